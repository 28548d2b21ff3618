// SHA-256 (FIPS 180-4) of a generated message: an integer kernel whose result everybody can check.
//
//   sha256 BYTES [ROUNDS]   prints ROUNDS digests of the first BYTES of the fixed byte stream
//
// The message is byte i = (i * 31 + round) mod 256. Exit codes: 0, 64 usage.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint32_t state[8];
  uint64_t byte_count;
  uint8_t block[64];
} Sha256;

static const uint32_t ROUND_CONSTANTS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, int bits) { return (word >> bits) | (word << (32 - bits)); }

static void compress(uint32_t state[8], const uint8_t block[64]) {
  uint32_t w[64];
  for (int t = 0; t < 16; t++) {
    w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
           (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
  }
  for (int t = 16; t < 64; t++) {
    uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
    uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; t++) {
    uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[t] + w[t];
    uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void start(Sha256 *hash) {
  static const uint32_t INITIAL[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, INITIAL, sizeof INITIAL);
  hash->byte_count = 0;
}

static void add(Sha256 *hash, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    hash->block[hash->byte_count++ % 64] = bytes[i];
    if (hash->byte_count % 64 == 0) compress(hash->state, hash->block);
  }
}

static void print_digest(Sha256 *hash) {
  uint64_t bit_count = hash->byte_count * 8;
  add(hash, (const uint8_t[]){0x80}, 1);
  while (hash->byte_count % 64 != 56) add(hash, (const uint8_t[]){0}, 1);
  for (int shift = 56; shift >= 0; shift -= 8)
    add(hash, (const uint8_t[]){(uint8_t)(bit_count >> shift)}, 1);
  for (int i = 0; i < 8; i++) printf("%08x", hash->state[i]);
  printf("\n");
}

int main(int argument_count, char **arguments) {
  if (argument_count < 2 || argument_count > 3) {
    printf("usage: sha256 BYTES [ROUNDS]\n");
    return 64;
  }
  uint64_t byte_count = strtoull(arguments[1], NULL, 10);
  int round_count = argument_count == 3 ? atoi(arguments[2]) : 1;
  for (int round = 0; round < round_count; round++) {
    Sha256 hash;
    start(&hash);
    uint8_t chunk[4096];
    for (uint64_t done = 0; done < byte_count;) {
      size_t count = byte_count - done < sizeof chunk ? (size_t)(byte_count - done) : sizeof chunk;
      for (size_t i = 0; i < count; i++) chunk[i] = (uint8_t)((done + i) * 31 + (uint64_t)round);
      add(&hash, chunk, count);
      done += count;
    }
    print_digest(&hash);
  }
  return 0;
}

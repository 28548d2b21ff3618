// Floating point: three kernels whose results print as bit patterns, and every way to make a NaN.
//
//   fp [STEPS]   nbody (STEPS), Mandelbrot, matrix product, then the NaN table
//
// NaN sign and payload bits are what WebAssembly leaves open (core specification, 4.3.3 "NaN
// propagation"); the table prints them, so an engine without canonical NaNs shows itself here.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double x, y, z, vx, vy, vz, mass;
} Body;

static uint64_t bits64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint32_t bits32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void advance(Body *bodies, int count, double dt) {
  for (int i = 0; i < count; i++) {
    for (int j = i + 1; j < count; j++) {
      double dx = bodies[i].x - bodies[j].x, dy = bodies[i].y - bodies[j].y,
             dz = bodies[i].z - bodies[j].z;
      double square = dx * dx + dy * dy + dz * dz;
      double magnitude = dt / (square * sqrt(square));
      bodies[i].vx -= dx * bodies[j].mass * magnitude;
      bodies[i].vy -= dy * bodies[j].mass * magnitude;
      bodies[i].vz -= dz * bodies[j].mass * magnitude;
      bodies[j].vx += dx * bodies[i].mass * magnitude;
      bodies[j].vy += dy * bodies[i].mass * magnitude;
      bodies[j].vz += dz * bodies[i].mass * magnitude;
    }
  }
  for (int i = 0; i < count; i++) {
    bodies[i].x += dt * bodies[i].vx;
    bodies[i].y += dt * bodies[i].vy;
    bodies[i].z += dt * bodies[i].vz;
  }
}

static void nbody(int step_count) {
  Body bodies[5];
  for (int i = 0; i < 5; i++) {
    double r = 1.0 + 3.0 * i;
    bodies[i] = (Body){r * cos(i),
                       r * sin(i),
                       0.1 * i,
                       -sin(i) / sqrt(r),
                       cos(i) / sqrt(r),
                       0.01 * i,
                       i == 0 ? 39.0 : 0.01 * i};
  }
  for (int step = 0; step < step_count; step++) advance(bodies, 5, 0.001);
  for (int i = 0; i < 5; i++) {
    printf("nbody %d %016llx %016llx\n", i, (unsigned long long)bits64(bodies[i].x),
           (unsigned long long)bits64(bodies[i].vy));
  }
}

static void mandelbrot(int side) {
  uint32_t digest = 0;
  for (int row = 0; row < side; row++) {
    for (int column = 0; column < side; column++) {
      double cr = 3.0 * column / side - 2.0, ci = 2.0 * row / side - 1.0, zr = 0, zi = 0;
      int iteration = 0;
      while (iteration < 200 && zr * zr + zi * zi < 4.0) {
        double next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
        iteration++;
      }
      digest = digest * 31 + (uint32_t)iteration;
    }
  }
  printf("mandelbrot %08x\n", digest);
}

static void matrix_product(int side) {
  double *a = malloc(sizeof(double) * side * side), *b = malloc(sizeof(double) * side * side);
  double trace = 0;
  for (int i = 0; i < side * side; i++) {
    a[i] = sin(i);
    b[i] = cos(i);
  }
  for (int i = 0; i < side; i++) {
    for (int j = 0; j < side; j++) {
      double sum = 0;
      for (int k = 0; k < side; k++) sum += a[i * side + k] * b[k * side + j];
      if (i == j) trace += sum;
    }
  }
  free(a);
  free(b);
  printf("matrix %016llx\n", (unsigned long long)bits64(trace));
}

// Volatile operands, so that the compiler cannot fold the operation away.
static void nan_table(void) {
  volatile double zero = 0, one = 1, infinity = INFINITY, minus = -1;
  volatile float zero32 = 0, infinity32 = INFINITY;
  uint64_t payload_bits = 0xfff4000012345678u;
  double payload_value;
  memcpy(&payload_value, &payload_bits, sizeof payload_value);
  volatile double payload = payload_value, quiet = zero / zero;
  printf("nan 0/0 %016llx\n", (unsigned long long)bits64(zero / zero));
  printf("nan inf-inf %016llx\n", (unsigned long long)bits64(infinity - infinity));
  printf("nan 0*inf %016llx\n", (unsigned long long)bits64(zero * infinity));
  printf("nan sqrt(-1) %016llx\n", (unsigned long long)bits64(sqrt(minus)));
  printf("nan payload+1 %016llx\n", (unsigned long long)bits64(payload + one));
  printf("nan 1*payload %016llx\n", (unsigned long long)bits64(one * payload));
  printf("nan payload+quiet %016llx\n", (unsigned long long)bits64(payload + quiet));
  printf("nan quiet+payload %016llx\n", (unsigned long long)bits64(quiet + payload));
  printf("nan -(0/0) %016llx\n", (unsigned long long)bits64(-(zero / zero)));
  printf("nan min %016llx\n", (unsigned long long)bits64(__builtin_wasm_min_f64(payload, one)));
  printf("nan floor %016llx\n", (unsigned long long)bits64(floor(payload)));
  printf("nan kept %016llx\n", (unsigned long long)bits64(payload));
  printf("nan f32 %08x\n", bits32(zero32 / zero32));
  printf("nan f32 inf-inf %08x\n", bits32(infinity32 - infinity32));
  printf("nan demote %08x\n", bits32((float)payload));
  printf("nan promote %016llx\n", (unsigned long long)bits64((double)(zero32 / zero32)));
}

int main(int argument_count, char **arguments) {
  int step_count = argument_count > 1 ? atoi(arguments[1]) : 1000;
  if (step_count < 0) {
    printf("usage: fp [STEPS]\n");
    return 64;
  }
  nbody(step_count);
  mandelbrot(step_count < 4000 ? 64 : 256);
  matrix_product(step_count < 4000 ? 64 : 160);
  nan_table();
  return 0;
}

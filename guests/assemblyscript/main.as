// The sieve of Eratosthenes and a little text, in AssemblyScript: writes to standard output through
// preview 1 itself, since the language has no standard library for it. (The file's name keeps it
// apart from this project's own TypeScript.)

@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: u32, vectors: usize, count: u32, size: usize): u32;

@external("wasi_snapshot_preview1", "clock_time_get")
declare function clock_time_get(clock: u32, precision: u64, time: usize): u32;

@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: u32): void;

// What the compiler calls when an assertion of its runtime fails (flag --use abort=main/fail).
function fail(message: string | null, file: string | null, line: u32, column: u32): void {
  proc_exit(134);
}

function print(text: string): void {
  const bytes = String.UTF8.encode(text + "\n");
  const frame = memory.data(12);
  store<u32>(frame, changetype<usize>(bytes) as u32);
  store<u32>(frame + 4, bytes.byteLength);
  fd_write(1, frame, 1, frame + 8);
}

function nowNs(): u64 {
  const time = memory.data(8);
  clock_time_get(1, 1, time);
  return load<u64>(time);
}

function primesBelow(limit: i32): i32[] {
  const isComposite = new StaticArray<bool>(limit);
  const primes: i32[] = [];
  for (let candidate = 2; candidate < limit; candidate++) {
    if (isComposite[candidate]) continue;
    primes.push(candidate);
    for (let multiple = candidate * 2; multiple < limit; multiple += candidate) {
      isComposite[multiple] = true;
    }
  }
  return primes;
}

const startNs = nowNs();
const primes = primesBelow(100_000);
const names = new Map<i32, string>();
for (let i = 0; i < primes.length; i++) names.set(primes[i], "prime number " + i.toString());
print("primes " + primes.length.toString() + ", last " + primes[primes.length - 1].toString());
print(names.get(7919));
const harmonic = primes.reduce((sum: f64, prime) => sum + 1.0 / (prime as f64), 0.0);
print("harmonic sum " + harmonic.toString());
print(nowNs() >= startNs ? "time has not gone back" : "TIME WENT BACK");

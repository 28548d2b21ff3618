// An ordinary command in JavaScript: arguments, both clocks, a sleep, Math.random, console.log.
import { getArguments } from 'wasi:cli/environment@0.2.10';
import { now, subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.10';

function sleep(ns) {
  const pollable = subscribeDuration(ns);
  pollable.block();
}

export const run = {
  run() {
    console.log(`arguments ${JSON.stringify(getArguments())}`);
    const startNs = now();
    for (let i = 1; i <= 3; i++) {
      sleep(250_000_000n);
      console.log(`slept ${i} times, ${(now() - startNs) / 1_000_000n} ms`);
    }
    console.log(`date ${new Date().toISOString()}`);
    const draws = Array.from({ length: 1000 }, () => Math.random());
    console.log(`mean of 1000 draws ${(draws.reduce((a, b) => a + b) / 1000).toFixed(6)}`);
    console.log('ok');
  },
};

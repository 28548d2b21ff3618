// A small counter service: each event is answered from state that lives in the JavaScript heap.
import { send, wakeAfter } from 'athanor:guest/outside@0.1.0';

const countBySource = new Map();

export function onEvent(nowNs, source, body) {
  const count = (countBySource.get(source) ?? 0) + 1;
  countBySource.set(source, count);
  if (body === 'wake') {
    wakeAfter(1_000_000n);
  } else if (body.startsWith('forward ')) {
    send(body.slice('forward '.length), `${source} says hello for time ${count}`);
  }
  const total = [...countBySource.values()].reduce((sum, value) => sum + value, 0);
  return JSON.stringify({ nowNs: Number(nowNs), source, count, total });
}

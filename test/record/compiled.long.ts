import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  buildGo,
  buildGuestFromPath,
  buildRust,
  compileC,
  ensureToolchains,
  guestPath,
  socketLibrary,
} from '../../guests/index.ts';
import { SimFolder, type SimResult } from '../cli/sim.ts';

/**
 * Compiled programs that call record worlds through the host, as `sim drive` and scenarios have them:
 * their own journals, retries and breakers run for real over what a plan injects.
 */

const WORLD = `
name: steps
services:
  s:
    records: { effects: { step: int } }
    operations:
      act: { kind: create, record: effects }
`;

/** A flow with a journal, a client with retries, and one with a breaker. */
const C_PROGRAM = String.raw`
#include <athanor/call.h>
#include <athanor/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char room[4096];

static int act(int step, uint32_t call) {
  char arguments[64];
  athanor_answer answer;
  snprintf(arguments, sizeof arguments, "{\"step\":%d}", step);
  int status = athanor_call("world.act", arguments, 200 * ATHANOR_MS, call, room, sizeof room, &answer);
  printf("step %d: %d %u\n", step, status, answer.retry_after_ms);
  fflush(stdout);
  return status;
}

static int done(int step) {
  char line[32];
  FILE *journal = fopen("/journal", "r");
  if (journal == NULL) return 0;
  int last = 0;
  while (fgets(line, sizeof line, journal) != NULL) last = atoi(line);
  fclose(journal);
  return last >= step;
}

static void note(int step) {
  FILE *journal = fopen("/journal", "a");
  fprintf(journal, "%d\n", step);
  fflush(journal);
  fsync(fileno(journal));
  fclose(journal);
}

static int flow(void) {
  for (int step = 1; step <= 5; step++) {
    if (done(step)) continue;
    if (act(step, 0) != 200) return 1;
    note(step);
  }
  sim_mark("log", "flow_status", NULL, "{\"flow\":\"f\",\"status\":\"completed\"}");
  return 0;
}

static int retry(int most) {
  for (int attempt = 1; attempt <= most; attempt++) {
    if (act(1, 1) == 200) return 0;
    usleep(50000 * attempt);
  }
  return 3;
}

static int breaker(void) {
  int failures = 0;
  for (int call = 1; call <= 5 && failures < 3; call++) failures = act(1, call) == 200 ? 0 : failures + 1;
  if (failures >= 3) sim_mark("log", "breaker_open", NULL, "{\"target\":\"world.act\"}");
  return 0;
}

int main(int count, char **words) {
  const char *mode = count > 1 ? words[1] : "flow";
  if (strcmp(mode, "retry") == 0) return retry(atoi(words[2]));
  return strcmp(mode, "breaker") == 0 ? breaker() : flow();
}
`;

const GO_PROGRAM = `package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"athanor/simnet/call"
)

func main() {
	for attempt := 1; attempt <= 4; attempt++ {
		answer, err := call.Attempt("world.act", map[string]int{"step": 7}, 200*time.Millisecond, 1)
		switch {
		case errors.Is(err, call.ErrTimeout):
			fmt.Println("timeout")
		case errors.Is(err, call.ErrConnection):
			fmt.Println("connection")
		case answer.Status != 200:
			fmt.Println(answer.Status, answer.RetryAfter)
			time.Sleep(answer.RetryAfter)
		default:
			var row struct{ Id, Step int }
			fmt.Println(json.Unmarshal(answer.Body, &row), row.Id, row.Step)
			return
		}
	}
	os.Exit(3)
}
`;

const RUST_PROGRAM = `
mod call;
use std::time::Duration;
fn main() {
    for _ in 0..4 {
        match call::attempt("world.act", "{\\"step\\":7}", Duration::from_millis(200), 1) {
            Err(call::Failure::Timeout) => println!("timeout"),
            Err(failure) => println!("{failure:?}"),
            Ok(answer) if answer.status == 200 => {
                println!("{}", String::from_utf8_lossy(&answer.body));
                return;
            }
            Ok(answer) => {
                println!("{} {:?}", answer.status, answer.retry_after);
                std::thread::sleep(answer.retry_after);
            }
        }
    }
    std::process::exit(3);
}
`;

const folder = new SimFolder();

async function drive(plan: object): Promise<SimResult> {
  folder.write('p.json', JSON.stringify({ worlds: { world: 'world.yaml' }, ...plan }));
  return folder.sim(['drive', 'p.json', '--out', 'b.athanor']);
}

const reportOf = (result: SimResult): Readonly<Record<string, unknown>> => {
  return result.records().find(({ type }) => type === 'drive') ?? {};
};

/** What the target wrote, and the steps whose effect ran, as a replay of the bundle tells them. */
async function replayed(): Promise<{ readonly said: string[]; readonly effects: number[] }> {
  const { exitCode, stdout } = await folder.sim(['replay', 'b.athanor', '--full']);
  expect(exitCode).toBe(0);
  const trace = JSON.parse((await folder.sim(['inspect', 'b.athanor', 'trace.json'])).stdout) as {
    readonly rows: readonly {
      readonly node: number;
      readonly kind: string;
      readonly text: string;
    }[];
  };
  const lines = trace.rows.filter(({ kind }) => kind === 'stdout');
  for (const { text } of lines) expect(stdout.replaceAll('\\"', '"')).toContain(text);
  const calls = lines
    .filter(({ node }) => node === 1)
    .map(({ text }) => JSON.parse(text) as object);
  return {
    said: lines.filter(({ node }) => node === 0).map(({ text }) => text),
    effects: calls.map((call) => (call as { args: { step: number } }).args.step),
  };
}

beforeAll(() => {
  folder.write('world.yaml', WORLD);
});

describe('KS-10 KS-13 KS-22 KS-26 KS-27: sim drive of a program in C', () => {
  beforeAll(async () => {
    folder.write('main.c', C_PROGRAM);
    folder.write('c.wasm', await buildGuestFromPath(join(folder.path, 'main.c')));
  }, 300_000);

  it('KS-22: five steps over two incarnations, each external effect exactly once', async () => {
    const result = await drive({
      target: 'c.wasm',
      faults: { 'world.act': ['ok', 'ok', 'ok', 'crash'] },
      assert: { flow_status: 'completed', exit_code: 0 },
    });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0, restarts: 1, findings: [] });
    const { said, effects } = await replayed();
    expect(effects).toEqual([1, 2, 3, 4, 5]);
    expect(said).toEqual([1, 2, 3, 4, 5].map((step) => `step ${step}: 200 0`));
  }, 120_000);

  it('KS-28: a flow that gives up after a lost answer has no such status', async () => {
    const result = await drive({
      target: 'c.wasm',
      faults: { 'world.act': ['timeout_after'] },
      assert: { flow_status: 'completed' },
    });
    expect(reportOf(result)).toMatchObject({ ok: false, exit_code: 1 });
    expect(reportOf(result)['findings']).toMatchObject([{ topic: 'flow-status' }]);
    expect((await replayed()).effects).toEqual([1]);
  }, 120_000);

  it('KS-26: four timeouts against a cap of three are one finding', async () => {
    const result = await drive({
      target: 'c.wasm',
      args: ['retry', '9'],
      faults: { 'world.act': [{ kind: 'timeout', repeat: 4 }] },
      assert: { max_attempts: { 'world.act': 3 }, exit_code: 0 },
    });
    expect(result.exitCode).toBe(2);
    expect(reportOf(result)['findings']).toEqual([
      {
        level: 'error',
        topic: 'max-attempts',
        detail: 'world.act: a call took 5 attempts, at most 3 are allowed',
      },
    ]);
    expect((await replayed()).said).toEqual([
      ...Array.from({ length: 4 }, () => 'step 1: -2 0'),
      'step 1: 200 0',
    ]);
  }, 120_000);

  it('KS-6 KS-11: timeout, 5xx, ok', async () => {
    const result = await drive({
      target: 'c.wasm',
      args: ['retry', '3'],
      faults: { 'world.act': ['timeout', '5xx', 'ok'] },
      assert: { max_attempts: { 'world.act': 3 }, exit_code: 0 },
    });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0, findings: [] });
    const { said, effects } = await replayed();
    expect(said).toEqual(['step 1: -2 0', 'step 1: 503 0', 'step 1: 200 0']);
    expect(effects).toEqual([1]);
  }, 120_000);

  it('KS-27: its breaker opens after three failures, and not after two', async () => {
    const plan = (repeat: number): object => ({
      target: 'c.wasm',
      args: ['breaker'],
      faults: { 'world.act': [{ kind: '5xx', repeat }] },
      assert: { breaker_open: ['world.act'] },
    });
    expect(reportOf(await drive(plan(3)))).toMatchObject({ ok: true });
    expect(reportOf(await drive(plan(2)))['findings']).toMatchObject([{ topic: 'breaker' }]);
  }, 120_000);
});

describe('KS-10: sim drive with the compilers of the system', () => {
  const faults = { 'world.act': ['timeout', { kind: '429', retry_after_ms: 700 }, 'conn'] };

  beforeAll(async () => {
    await ensureToolchains(['go', 'rust']);
  }, 300_000);

  it('of a program in Go', async () => {
    const directory = join(folder.path, 'go');
    mkdirSync(directory);
    const module = 'module calling\n\ngo 1.21\n\nrequire athanor/simnet v0.0.0\n\n';
    writeFileSync(join(directory, 'go.mod'), `${module}replace athanor/simnet => ./sdk\n`);
    writeFileSync(join(directory, 'main.go'), GO_PROGRAM);
    cpSync(guestPath('sdk', 'go'), join(directory, 'sdk'), { recursive: true });
    folder.write('go.wasm', await buildGo({ directory }));
    const result = await drive({ target: 'go.wasm', faults, assert: { exit_code: 0 } });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0 });
    const { said, effects } = await replayed();
    expect(said).toEqual(['timeout', '429 700ms', 'connection', '<nil> 1 7']);
    expect(effects).toEqual([7]);
  }, 300_000);

  it('of a program in Rust', async () => {
    const directory = join(folder.path, 'rust');
    mkdirSync(directory);
    writeFileSync(join(directory, 'main.rs'), RUST_PROGRAM);
    cpSync(guestPath('sdk', 'rust', 'call.rs'), join(directory, 'call.rs'));
    const files = ['main.rs', 'call.rs'];
    folder.write('rust.wasm', await buildRust({ directory, root: 'main.rs', files }));
    const result = await drive({ target: 'rust.wasm', faults, assert: { exit_code: 0 } });
    expect(reportOf(result)).toMatchObject({ ok: true, exit_code: 0 });
    const { said, effects } = await replayed();
    expect(said).toEqual(['timeout', '429 700ms', 'Connection', '{"id":1,"step":7}']);
    expect(effects).toEqual([7]);
  }, 300_000);
});

const C_HANDLER = String.raw`
#include <athanor/handler.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>

static char text[1024];

// Adds to the counter of that name; refuses what is no positive number.
ATHANOR_HANDLER(add) {
  athanor_answer_text(text, sizeof text);
  const char *found = strstr(text, "\"by\":");
  int by = found == NULL ? 0 : atoi(found + 5);
  athanor_ask_text("{\"do\":\"pick\",\"table\":\"counters\",\"values\":{}}");
  athanor_answer_text(text, sizeof text);
  const char *value = strstr(text, "\"value\":{\"id\":1,\"count\":");
  int before = value == NULL ? 0 : atoi(value + 24);
  if (value == NULL) {
    athanor_ask_text("{\"do\":\"insert\",\"table\":\"counters\",\"values\":{\"count\":0}}");
  }
  char question[128];
  snprintf(question, sizeof question,
           "{\"do\":\"update\",\"table\":\"counters\",\"id\":1,\"values\":{\"count\":%d}}", before + by);
  athanor_ask_text(question);
  if (by <= 0) {
    athanor_refuse_text("only more than nothing is added");
    return;
  }
  snprintf(question, sizeof question, "{\"count\":%d}", before + by);
  athanor_reply_text(question);
}
`;

describe('FH-15: handlers in C', () => {
  it('FH-15 FH-19: are served, refuse without a trace of what they wrote, and keep nothing', async () => {
    const library = socketLibrary();
    const bytes = new TextEncoder().encode(C_HANDLER);
    const module = await compileC({
      files: [{ path: 'm.c', bytes }, ...library.files],
      units: ['m.c'],
      includeDirectories: library.includeDirectories,
      flags: ['-mexec-model=reactor'],
    });
    folder.write('m.wasm', module);
    folder.write(
      'counter.yaml',
      `
name: counter
services:
  s:
    records: { counters: { count: int } }
    operations:
      add: { kind: custom, handler: m.add, parameters: { by: int } }
`,
    );
    folder.write(
      'agent.mjs',
      `
export function* main() {
  for (const by of [2, 0, 40]) {
    const { status, body } = yield { do: 'call', target: 'counter.add', args: { by }, timeout_ms: 500 };
    yield { do: 'log', text: status + ' ' + body };
  }
  return 0;
}`,
    );
    const checked = await folder.sim(['world', 'check', 'counter.yaml']);
    expect([checked.exitCode, checked.stderr]).toEqual([0, '']);
    folder.write(
      'p.json',
      JSON.stringify({ target: 'agent.mjs', worlds: { counter: 'counter.yaml' } }),
    );
    const result = await folder.sim(['drive', 'p.json', '--out', 'b.athanor']);
    expect(result.exitCode).toBe(0);
    const trace = await folder.sim(['inspect', 'b.athanor', 'trace.json']);
    const said = (JSON.parse(trace.stdout) as { rows: { node: number; text: string }[] }).rows
      .filter(({ node, text }) => node === 0 && /^\d/.test(text))
      .map(({ text }) => text);
    expect(said[0]).toBe('200 {"count":2}');
    expect(said[1]).toMatch(/^4\d\d .*only more than nothing is added/);
    expect(said[2]).toBe('200 {"count":42}');
    const again = await folder.sim(['replay', 'b.athanor']);
    expect(again.exitCode).toBe(0);
  }, 300_000);
});

/** A commit of a small C guest: what it says, and the whole source after it. */
export interface CCommit {
  readonly message: string;
  readonly source: string;
}

/** What a commit has, beside the defect. */
interface CShape {
  readonly message: string;
  readonly token?: boolean;
  readonly log?: boolean;
  readonly helper?: string;
  readonly backoff?: boolean;
  readonly summary?: boolean;
  readonly broken?: boolean;
}

/** The commit from which on a request is dropped where its number is a retry's by chance. */
export const C_SERIES_FIRST_BAD = 6;

const SHAPES: readonly CShape[] = [
  { message: 'Serve seven requests' },
  { message: 'Log the start', log: true },
  { message: 'Draw a token for each session', log: true, token: true },
  { message: 'Rename the loop', log: true, token: true, helper: 'serve' },
  { message: 'Back off by chance', log: true, token: true, helper: 'serve', backoff: true },
  { message: 'Drop the token', log: true, helper: 'serve', backoff: true },
  { message: 'Skip duplicates', log: true, helper: 'serve', backoff: true, broken: true },
  { message: 'Print a summary', helper: 'serve', backoff: true, summary: true, broken: true },
  { message: 'Draw the token again', token: true, helper: 'run', summary: true, broken: true },
  { message: 'Log less', token: true, helper: 'run', broken: true },
];

/** Ten commits of one guest. */
export const C_SERIES: readonly CCommit[] = SHAPES.map((shape) => {
  return { message: shape.message, source: sourceOf(shape) };
});

function sourceOf({ token, log, helper = 'step', backoff, summary, broken }: CShape): string {
  const lines = [
    '#include <stdint.h>',
    '#include <stdio.h>',
    '#include <unistd.h>',
    '',
    'static uint8_t draw(void) {',
    '  uint8_t byte = 0;',
    '  getentropy(&byte, 1);',
    '  return byte;',
    '}',
    '',
    `static void ${helper}(int request) {`,
    '  uint8_t number = draw();',
    ...(backoff ? ['  if (draw() < 128) usleep(1000);'] : []),
    ...(broken ? ['  if (number < 8) { printf("request lost\\n"); return; }'] : []),
    '  printf("request %d is served as %d\\n", request, number);',
    '}',
    '',
    'int main(void) {',
    ...(log ? ['  printf("ready\\n");'] : []),
    ...(token ? ['  printf("token %d\\n", draw());'] : []),
    `  for (int request = 0; request < 7; request++) ${helper}(request);`,
    ...(summary ? ['  printf("seven requests\\n");'] : []),
    '  return 0;',
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

/** The scenario of the guest, read from `worker.wasm`. */
export const C_SERIES_TOML = `
schema_version = 1
name = "ledger"

[guest.worker]
wasm = "worker.wasm"

[[node]]
names = ["w1", "w2"]
guest = "worker"

[[property]]
name = "nothing is lost"
kind = "never"
console = "request lost"

[limits]
virtual_time = "10s"
`;

import { describe, expect, it } from 'vitest';
import { SimFolder } from '../cli/sim.ts';

const folder = new SimFolder();

async function outcomes(script: string, body: string): Promise<readonly unknown[]> {
  folder.write(
    'f.sim.ts',
    `import { assertEqual, faultServer, listen, service, sleep, test } from 'athanor/spec';
     service('real', { body: async () => {
       const server = listen(8080);
       for (;;) {
         const peer = await server.accept();
         const text = await peer.receiveText();
         const answer = 'real ' + text?.split(' ')[1];
         await peer.send('HTTP/1.1 201 Created\\r\\ncontent-length: ' + answer.length + '\\r\\n\\r\\n' + answer);
         peer.close();
       }
     } });
     service('api', { body: faultServer(${script}) });
     const get = async (path, options) => {
       try { const answer = await fetch('http://api' + path, options); return answer.status + ' ' + (await answer.text()); }
       catch { return 'no answer'; }
     };
     test('t', async () => { await sleep(5); ${body} });`,
  );
  const { records, stderr } = await folder.sim([
    'test',
    'f.sim.ts',
    '--seed',
    '1',
    '--no-types',
    '--format',
    'jsonl',
  ]);
  const leaves = records()
    .filter(({ type }) => type === 'leaf')
    .map(({ outcome, detail }) => [outcome, String(detail).split('\n')[0]]);
  return leaves.length === 0 ? [stderr] : leaves;
}

const SCRIPT = `{ port: 80, upstream: 'real:8080', default: { status: 404, body: 'none' }, paths: {
  '/pay': [{ status: 503, repeat: 2, headers: { 'retry-after': '1' } }, { reset: true }, { delay_ms: 50, body: { paid: true } }],
  '/through': [{ forward: true }],
} }`;

describe('a server that answers by a script', () => {
  it('KS-44 serves each path its queue, forwards, drops connections, and ends with the default', async () => {
    expect(
      await outcomes(
        SCRIPT,
        `const seen = [];
         for (let n = 0; n < 5; n++) seen.push(await get('/pay?n=' + n));
         assertEqual(seen, ['503 ', '503 ', 'no answer', '200 {"paid":true}', '404 none']);
         assertEqual(await get('/through'), '201 real /through');
         assertEqual(await get('/other'), '404 none');
         const retry = await fetch('http://api/x');
         assertEqual(retry.headers['content-type'], 'text/plain');`,
      ),
    ).toEqual([['pass', '']]);
  });

  it('KS-44 takes its time, tells what it did, and begins anew when it is told to', async () => {
    expect(
      await outcomes(
        SCRIPT,
        `const post = { method: 'POST', body: 'a=1' };
         await get('/pay', post); await get('/pay'); await get('/pay');
         const before = Date.now(); await get('/pay'); assertEqual(Date.now() - before >= 50, true);
         const log = JSON.parse((await get('/__faults/log')).slice(4));
         assertEqual(log.map(({ method, did, status }) => [method, did, status]), [['POST', 'answered', 503],
           ['GET', 'answered', 503], ['GET', 'reset', null], ['GET', 'answered', 200]]);
         assertEqual(log[0].body, 'a=1');
         await get('/__faults/reset', { method: 'POST' });
         assertEqual((await get('/__faults/log')), '200 []');
         assertEqual(await get('/pay'), '503 ');`,
      ),
    ).toEqual([['pass', '']]);
  });

  it('KS-44 hands all to the upstream without a default, and says 502 where that is not there', async () => {
    const passes = `assertEqual(await get('/a'), '201 real /a');`;
    expect(await outcomes(`{ port: 80, upstream: 'real:8080' }`, passes)).toEqual([['pass', '']]);
    const fails = `assertEqual(await get('/a'), '502 ');`;
    expect(await outcomes(`{ port: 80, upstream: 'real:9' }`, fails)).toEqual([['pass', '']]);
  });

  it.each([
    [`{ port: 0 }`, 'port is no port'],
    [`{ port: 80, pahts: {} }`, 'unknown key "pahts"; there are port, upstream, default, paths'],
    [
      `{ port: 80, paths: { '/a': [{ stauts: 500 }] } }`,
      'paths["/a"][0] has an unknown key "stauts"',
    ],
    [`{ port: 80, paths: { '/a': [{ status: 99 }] } }`, 'paths["/a"][0].status is no status'],
    [`{ port: 80, default: { forward: true } }`, 'default forwards, and there is no upstream'],
  ])('KS-44 refuses %s when the spec is loaded', async (script, message) => {
    expect((await outcomes(script, '')).join()).toContain(message.replaceAll('"', '\\"'));
  });
});

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import { runCommand, RunningCommands, type CommandResult } from '../../guests/index.ts';
import { readInput } from '../../scenarios/index.ts';
import { SimError } from '../../sim/index.ts';
import type { Context } from '../context.ts';
import { checkCount, type Build, type BuildList } from './builds.ts';

export interface CommitsRequest {
  /** `GOOD..BAD`, as git reads revisions. */
  readonly range: string;
  /** What builds a commit, for a shell in the root of its work tree. */
  readonly command: string;
  /** The module that the command leaves, from there on; undefined for the only one that is new. */
  readonly artifact: string | undefined;
  /** The repository; null for the current folder. */
  readonly repo: string | undefined;
}

interface Commit {
  readonly hash: string;
  /** The short hash and the subject. */
  readonly name: string;
}

/**
 * The commits of a range, from the good one to the bad one along the first parents: a merge counts
 * as one. Each is built, when it is asked for, in a work tree of its own under the temporary folder,
 * which goes away with it; the repository's own work tree is not touched. Throws `usage/…` for
 * options that cannot be, `input/git-…` for a range that is none, `backend/git-missing`.
 */
export async function openCommits(request: CommitsRequest, context: Context): Promise<BuildList> {
  const { range, artifact } = request;
  if (artifact !== undefined) checkArtifact(artifact);
  const git = new Git(request.repo === undefined ? context.host.cwd : context.path(request.repo));
  const [good, bad] = splitRange(range);
  await git.checkRepository(request.repo ?? '.');
  const first = await git.commit(good, range);
  const last = await git.commit(bad, range);
  await checkRange(git, { good: first, bad: last, range });
  const commits = [first, ...(await git.commitsAfter(first, last))];
  checkCount(commits.length, range, 'commits');
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'athanor-bisect-')));
  const running = new RunningCommands();
  const source = { git, folder, request, context, running };
  const builds = commits.map((commit) => buildOf(commit, source));
  const clear = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await git.run(['worktree', 'prune']);
  };
  const stopListening = onInterrupt(async () => {
    running.endAll();
    await git.rest();
    await clear();
  });
  const close = async (): Promise<void> => {
    stopListening();
    await clear();
  };
  return { builds, place: range, close };
}

/** Before the process ends by a signal, `clear` runs; the answer stops that. */
function onInterrupt(clear: () => Promise<void>): () => void {
  const listen = (signal: NodeJS.Signals): void => {
    stop();
    // Ends as if nobody had listened, so that whoever waits for us sees why.
    const end = (): boolean => process.kill(process.pid, signal);
    clear().then(end, end);
  };
  const stop = (): void => {
    process.off('SIGINT', listen).off('SIGTERM', listen);
  };
  process.on('SIGINT', listen).on('SIGTERM', listen);
  return stop;
}

/** A commit's build, made at most once. */
function buildOf(
  { hash, name }: Commit,
  source: {
    readonly git: Git;
    readonly folder: string;
    readonly request: CommitsRequest;
    readonly context: Context;
    readonly running: RunningCommands;
  },
): Build {
  let made: Promise<Uint8Array> | null = null;
  return { name, image: () => (made ??= buildCommit(hash, source)) };
}

async function buildCommit(
  hash: string,
  { git, folder, request, context, running }: Parameters<typeof buildOf>[1],
): Promise<Uint8Array> {
  const { command, artifact } = request;
  const tree = join(folder, hash);
  await unlessEnded(running);
  await git.must(['worktree', 'add', '--detach', '--force', tree, hash]);
  try {
    const environment: Record<string, string> = {};
    for (const [name, value] of Object.entries(context.host.env)) {
      if (value !== undefined) environment[name] = value;
    }
    const args = ['-c', command];
    const result = await runCommand({
      program: '/bin/sh',
      args,
      directory: tree,
      environment,
      among: running,
    });
    await unlessEnded(running);
    if (result?.exitCode !== 0) {
      throw new SimError({
        code: 'input/build-failed',
        message: `the command ended with code ${result?.exitCode ?? 127}${lastLine(result)}`,
        place: command,
      });
    }
    return readArtifact(tree, artifact ?? (await newModule(tree, git)));
  } finally {
    await git.run(['worktree', 'remove', '--force', tree]);
  }
}

/** Goes on, unless the commands were ended from outside: then the process is about to end, too. */
async function unlessEnded({ hasEnded }: RunningCommands): Promise<void> {
  if (hasEnded) await new Promise(() => undefined);
}

/** The path of the one module that a build has made or changed. Throws `input/build-artifact`. */
async function newModule(tree: string, git: Git): Promise<string> {
  const all = ['status', '--porcelain', '-z', '--ignored', '--untracked-files=all', '--no-renames'];
  const status = await git.must(['-C', tree, ...all]);
  // Each entry is two letters, a space and the path; D is a file that is gone.
  const entries = status.split('\0').filter((entry) => !entry.slice(0, 2).includes('D'));
  const modules = entries.map((entry) => entry.slice(3)).filter((path) => path.endsWith('.wasm'));
  const [only, ...more] = modules;
  if (only !== undefined && more.length === 0) return only;
  throw new SimError({
    code: 'input/build-artifact',
    message:
      only === undefined
        ? 'the command has left no new module (*.wasm) in the work tree'
        : `the command has left ${modules.length} modules: ${modules.slice(0, 5).join(', ')}`,
    place: '--build',
    remedy: 'name the one that is meant: --artifact PATH',
  });
}

function readArtifact(tree: string, artifact: string): Uint8Array {
  try {
    return readInput(join(tree, artifact), artifact);
  } catch (error) {
    if (!(error instanceof SimError) || error.code !== 'input/missing') throw error;
    throw new SimError({
      code: 'input/build-artifact',
      message: `the command has left no ${artifact}`,
      place: artifact,
      cause: error,
    });
  }
}

/** git in one repository. Throws `backend/git-missing` where there is no git. */
class Git {
  private readonly directory: string;
  /** The last command, or all that run at one time. */
  private busy: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Waits until nothing runs. */
  async rest(): Promise<void> {
    await this.busy;
  }

  async run(args: readonly string[]): Promise<CommandResult> {
    const running = runCommand({ program: 'git', args, directory: this.directory }).catch(
      (): undefined => undefined,
    );
    this.busy = Promise.allSettled([this.busy, running]);
    const result = await running;
    if (result !== undefined) return result;
    throw new SimError({
      code: 'backend/git-missing',
      message: 'git is not there, or the folder of the repository is not',
      place: 'git',
      remedy: 'install git, or build the modules yourself and give --builds DIR',
    });
  }

  /** The output of a command that is expected to succeed. */
  async must(args: readonly string[]): Promise<string> {
    const result = await this.run(args);
    if (result.exitCode === 0) return result.output;
    throw new SimError({
      code: 'input/git',
      message: `git ${args[0] ?? ''} failed${lastLine(result)}`,
      remedy: 'see that the repository is whole and that its folder can be written',
    });
  }

  async checkRepository(shown: string): Promise<void> {
    const { exitCode } = await this.run(['rev-parse', '--git-dir']);
    if (exitCode === 0) return;
    throw new SimError({
      code: 'input/git-repository',
      message: 'the folder belongs to no git repository',
      place: shown,
      remedy: 'name the repository: --repo DIR',
    });
  }

  async commit(revision: string, range: string): Promise<Commit> {
    const verified = ['rev-parse', '--verify', '--quiet', '--end-of-options'];
    const { exitCode, output } = await this.run([...verified, `${revision}^{commit}`]);
    if (exitCode !== 0) {
      throw new SimError({
        code: 'input/git-revision',
        message: `the repository knows no commit "${revision}"`,
        place: range,
        remedy: 'name commits, tags or branches: --git v1.2..main',
      });
    }
    return parseCommits(await this.must(['log', '-1', FORMAT, output.trim()]))[0] as Commit;
  }

  /** The commits after one up to another, oldest first. */
  async commitsAfter(first: Commit, last: Commit): Promise<readonly Commit[]> {
    const range = `${first.hash}..${last.hash}`;
    return parseCommits(await this.must(['log', '--first-parent', '--reverse', FORMAT, range]));
  }

  async isAncestor(older: Commit, newer: Commit): Promise<boolean> {
    const args = ['merge-base', '--is-ancestor', older.hash, newer.hash];
    return (await this.run(args)).exitCode === 0;
  }
}

const FORMAT = '--format=%H%x09%h %s';

function parseCommits(output: string): readonly Commit[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const tab = line.indexOf('\t');
      return { hash: line.slice(0, tab), name: line.slice(tab + 1) };
    });
}

function splitRange(range: string): readonly [good: string, bad: string] {
  const [good = '', bad = '', ...more] = range.split('..');
  if (good !== '' && bad !== '' && more.length === 0 && !bad.startsWith('.')) return [good, bad];
  throw new SimError({
    code: 'usage/git',
    message: `--git is "${range}", expected GOOD..BAD`,
    place: '--git',
    remedy: 'name the last commit that passed and one that fails: --git v1.2..main',
  });
}

async function checkRange(
  git: Git,
  { good, bad, range }: { readonly good: Commit; readonly bad: Commit; readonly range: string },
): Promise<void> {
  if (good.hash === bad.hash) {
    throw new SimError({
      code: 'input/git-range',
      message: 'the range is empty: both ends are one commit',
      place: range,
      remedy: 'name a commit that passed and a later one that fails',
    });
  }
  if (await git.isAncestor(good, bad)) return;
  const swapped = await git.isAncestor(bad, good);
  throw new SimError({
    code: swapped ? 'input/builds-swapped' : 'input/git-range',
    message: swapped
      ? 'the ends are the wrong way round: the bad commit comes before the good one'
      : 'the good commit is no ancestor of the bad one',
    place: range,
    remedy: swapped
      ? 'name the good commit first: --git GOOD..BAD'
      : 'start from a common ancestor',
  });
}

/** A module elsewhere would be that of another commit. */
function checkArtifact(artifact: string): void {
  if (!isAbsolute(artifact) && !normalize(artifact).startsWith('..')) return;
  throw new SimError({
    code: 'usage/artifact',
    message: `--artifact is "${artifact}", expected a path within the work tree`,
    place: '--artifact',
    remedy: 'give the path from the root of the repository on: --artifact out/server.wasm',
  });
}

function lastLine(result: CommandResult | undefined): string {
  const line = result?.transcript.trimEnd().split('\n').at(-1) ?? '';
  return line === '' ? '' : `: ${line.slice(0, 200)}`;
}

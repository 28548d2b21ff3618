import { readFileSync } from 'node:fs';
import { engineDigests, type EngineTask } from './engine-digests.ts';

// A process of its own, so that flags and versions of the engine can differ: reads a task as JSON
// from the file that is its argument, writes the digests as JSON.
const task = JSON.parse(readFileSync(process.argv[2], 'utf8')) as EngineTask;
const digests = engineDigests(task, (path) => Uint8Array.from(readFileSync(path)));
process.stdout.write(JSON.stringify(digests));

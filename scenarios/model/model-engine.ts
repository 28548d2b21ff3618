import { SourceMap, type SourceMapPayload } from 'node:module';
import { z } from 'zod';
import { SimError, type GuestImage, type GuestPort } from '../../sim/index.ts';
import { ModelGuest } from './model-guest.ts';
import { MODEL_MAGIC, type ModelModule } from './model-format.ts';
import { Realm, type RealmModules } from './realm.ts';
import { Watch } from './watch.ts';

/** What a spec declared; references to other declarations are their names. */
export interface Declared {
  readonly kind: string;
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What bodies have said so far in this process; no run sees it. */
export interface BodyTally {
  assertions: number;
  /** How often they looked at a clock or set a timer: by the names of their nodes. */
  readonly timed: Map<string, number>;
}

/** The compiled bodies of a model image. */
export interface ModelProgram {
  readonly realm: Realm;
  /** The spec's own file: the first of the modules. */
  readonly main: string;
  readonly modules: RealmModules;
  /** A text in which places of the code are those of the spec. */
  readonly locate: (text: string) => string;
  readonly tally: BodyTally;
}

const modulesSchema = z
  .array(z.object({ name: z.string(), code: z.string(), map: z.string() }))
  .min(1);

/** Puts the spec's lines for those of its code, in the stacks of errors. */
function locator(files: readonly ModelModule[]): ModelProgram['locate'] {
  const maps = new Map<string, SourceMap>();
  return (text) => {
    return text.replace(/\((.+):(\d+):(\d+)\)$/gm, (whole, name: string, line, column) => {
      const file = files.find((each) => each.name === name);
      if (file === undefined) return whole;
      const map = maps.get(name) ?? new SourceMap(JSON.parse(file.map) as SourceMapPayload);
      maps.set(name, map);
      const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!('originalLine' in entry)) return whole;
      return `(${name}:${entry.originalLine + 1}:${entry.originalColumn + 1})`;
    });
  };
}

/** Makes model guests; all of a process share one realm, since building one takes milliseconds. */
export class ModelEngine {
  /** What ends bodies that never end. */
  readonly watch = new Watch();
  private realm: Realm | null = null;
  private readonly programs = new Map<string, ModelProgram>();

  /** `digest` names the image's content. */
  load(digest: string, image: Uint8Array): ModelProgram {
    const known = this.programs.get(digest);
    if (known !== undefined) return known;
    this.realm ??= new Realm(this.watch);
    const realm = this.realm;
    let program: ModelProgram;
    try {
      const text = new TextDecoder().decode(image).slice(MODEL_MAGIC.length);
      const files = modulesSchema.parse(JSON.parse(text));
      const modules = realm.compile(files);
      const main = files[0]?.name ?? '';
      const tally = { assertions: 0, timed: new Map<string, number>() };
      program = { realm, modules, main, locate: locator(files), tally };
    } catch (error) {
      throw new SimError({
        code: 'guest/model',
        message: `the model's code cannot be loaded: ${(error as Error).message}`,
        place: `image ${digest.slice(0, 12)}`,
        remedy: 'build the image from its spec again',
        cause: error,
      });
    }
    this.programs.set(digest, program);
    return program;
  }

  /** What a spec's code declares when it is loaded, with its values. Throws `guest/model`. */
  declarations({ realm, main, modules }: ModelProgram): readonly Declared[] {
    const refuse = (): string =>
      '{"error":"a spec declares without a world: no call outside bodies"}';
    const answer = JSON.parse(realm.declarations(refuse, main, modules)) as {
      readonly declared?: readonly Declared[];
      readonly failed?: string;
    };
    if (answer.declared !== undefined) return answer.declared;
    throw new SimError({
      code: 'guest/model',
      message: `the spec cannot be loaded: ${answer.failed ?? ''}`,
      place: main,
      remedy: 'mend what its top level does; bodies run later',
    });
  }

  spawn(program: ModelProgram, port: GuestPort): ModelGuest {
    return new ModelGuest(program, port);
  }

  fork(program: ModelProgram, image: GuestImage, port: GuestPort): ModelGuest {
    const guest = new ModelGuest(program, port);
    guest.restore(image);
    return guest;
  }
}

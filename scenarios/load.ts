import { decodeUtf8, isUtf8, SimError } from '../sim/index.ts';
import { compileScenario, type CompileResult, type ScenarioFiles } from './compile.ts';
import { parseToml } from './toml.ts';

/** Compiles a scenario's TOML; `file` is how places call it. Never throws for bad input. */
export function loadScenarioText(text: string, file: string, files: ScenarioFiles): CompileResult {
  try {
    const parsed = parseToml(text, file);
    const source = { file, locate: parsed.locate.bind(parsed) };
    return compileScenario(parsed.value, source, files);
  } catch (error) {
    if (error instanceof SimError) return { ok: false, errors: [error] };
    throw error;
  }
}

/** As `loadScenarioText`, of a file's bytes, which must be UTF-8. */
export function loadScenarioBytes(
  bytes: Uint8Array,
  file: string,
  files: ScenarioFiles,
): CompileResult {
  if (isUtf8(bytes)) return loadScenarioText(decodeUtf8(bytes), file, files);
  const message = 'the scenario is not UTF-8 text';
  return { ok: false, errors: [new SimError({ code: 'scenario/toml', message, place: file })] };
}

// What must hold in a program, and what clients saw, told to the simulator. Each name is one
// property over all calls, nodes and runs. `details` is the text of a JSON object, or empty.

@external("athanor", "marker")
declare function marker(address: usize, length: i32): void;

function mark(line: string): void {
  const bytes = String.UTF8.encode(line);
  marker(changetype<usize>(bytes), bytes.byteLength);
}

function quoted(text: string): string {
  let out = '"';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20) out += "\\u00" + (code < 16 ? "0" : "") + code.toString(16);
    else if (code == 0x22 || code == 0x5c) out += "\\" + text.charAt(index);
    else out += text.charAt(index);
  }
  return out + '"';
}

function say(kind: string, name: string, hit: bool, condition: bool, details: string): void {
  const tail = details.length == 0 ? "" : ',"details":' + details;
  const state = ',"hit":' + (hit ? "true" : "false") + ',"condition":' + (condition ? "true" : "false");
  mark('{"kind":"' + kind + '","name":' + quoted(name) + state + tail + "}");
}

/** Must hold whenever it is reached. */
export function always(condition: bool, name: string, details: string = ""): void {
  say("always", name, true, condition, details);
}

/** Must hold at least once, in some run of a campaign. */
export function sometimes(condition: bool, name: string, details: string = ""): void {
  say("sometimes", name, true, condition, details);
}

/** Must be reached at least once, in some run of a campaign. */
export function reachable(name: string, details: string = ""): void {
  say("reachable", name, true, true, details);
}

/** Must never be reached. */
export function unreachable_(name: string, details: string = ""): void {
  say("unreachable", name, true, false, details);
}

/** Names an assertion ("always", "sometimes" or "reachable") that may never be reached. */
export function declare_(kind: string, name: string): void {
  say(kind, name, false, false, "");
}

/** A line of a history: `verb` is invoke, ok, fail or info; `words` the call or the result. */
export function operation(verb: string, client: string, id: string, words: string = ""): void {
  mark("op " + verb + " " + client + " " + id + (words.length == 0 ? "" : " " + words));
}

//! What must hold in a program, and what clients saw, told to the simulator.
//!
//! Each name is one property over all calls, nodes and runs. Outside of the simulator the calls do
//! nothing, so one source serves both. Include it with `#[path = ".../assert.rs"] mod assert;`.
//! `details` is the text of a JSON object, or empty.
#![allow(dead_code)]

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "athanor")]
extern "C" {
    fn marker(address: *const u8, length: usize);
}

#[cfg(target_arch = "wasm32")]
fn mark(line: &str) {
    // The host reads these bytes before it returns, and nothing else.
    unsafe { marker(line.as_ptr(), line.len()) }
}

#[cfg(not(target_arch = "wasm32"))]
fn mark(_line: &str) {}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => out.extend(['\\', sign]),
            sign if (sign as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", sign as u32)),
            sign => out.push(sign),
        }
    }
    out + "\""
}

fn say(kind: &str, name: &str, hit: bool, condition: bool, details: &str) {
    let tail = if details.is_empty() { String::new() } else { format!(",\"details\":{details}") };
    let name = quoted(name);
    mark(&format!(
        "{{\"kind\":\"{kind}\",\"name\":{name},\"hit\":{hit},\"condition\":{condition}{tail}}}"
    ));
}

/// Must hold whenever it is reached.
pub fn always(condition: bool, name: &str, details: &str) {
    say("always", name, true, condition, details);
}

/// Must hold at least once, in some run of a campaign.
pub fn sometimes(condition: bool, name: &str, details: &str) {
    say("sometimes", name, true, condition, details);
}

/// Must be reached at least once, in some run of a campaign.
pub fn reachable(name: &str, details: &str) {
    say("reachable", name, true, true, details);
}

/// Must never be reached.
pub fn unreachable(name: &str, details: &str) {
    say("unreachable", name, true, false, details);
}

/// Names an assertion ("always", "sometimes" or "reachable") that may never be reached.
pub fn declare(kind: &str, name: &str) {
    say(kind, name, false, false, "");
}

/// A line of a history: `verb` is invoke, ok, fail or info; `words` the call or the result.
pub fn operation(verb: &str, client: &str, id: &str, words: &[&str]) {
    let mut line = format!("op {verb} {client} {id}");
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    mark(&line);
}

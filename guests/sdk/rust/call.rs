//! Calls of record worlds through the simulator.
//!
//! One call of `attempt` is one attempt: retrying, backing off and giving up are the program's own. The
//! simulator counts attempts, and a plan may tell each of them to fail, to be late, or to end the
//! program. Outside of the simulator there is no service: each attempt is `Failure::Connection`.
//! Include it with `#[path = ".../call.rs"] mod call;`.
#![allow(dead_code)]

use std::time::Duration;

/// How long an answer may be.
const ANSWER_MAX: usize = 1 << 20;

/// Why no answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// There is no connection, or it broke.
    Connection,
    /// The caller's time was up; whether the operation ran is not known.
    Timeout,
    /// The answer has so many bytes, which is too many.
    TooLong(usize),
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// That of HTTP.
    pub status: u16,
    pub body: Vec<u8>,
    /// What a retry-after header said, or nothing.
    pub retry_after: Duration,
}

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "athanor")]
extern "C" {
    #[allow(clippy::too_many_arguments)]
    fn call(
        target: *const u8,
        target_size: usize,
        arguments: *const u8,
        arguments_size: usize,
        timeout_ns: i64,
        number: u32,
        room: *mut u8,
        room_size: usize,
        reply: *mut u32,
    ) -> i32;
}

#[cfg(target_arch = "wasm32")]
fn host(target: &str, arguments: &str, timeout_ns: i64, number: u32, room: &mut [u8]) -> (i32, [u32; 2]) {
    let mut reply = [0u32; 2];
    // The host reads the texts and writes the room and the reply before it returns, and nothing else.
    let status = unsafe {
        call(
            target.as_ptr(),
            target.len(),
            arguments.as_ptr(),
            arguments.len(),
            timeout_ns,
            number,
            room.as_mut_ptr(),
            room.len(),
            reply.as_mut_ptr(),
        )
    };
    (status, reply)
}

#[cfg(not(target_arch = "wasm32"))]
fn host(_: &str, _: &str, _: i64, _: u32, _: &mut [u8]) -> (i32, [u32; 2]) {
    (-1, [0, 0])
}

/// Calls `target`, "<node>.<operation>", with the text of a JSON object. A timeout of zero waits for
/// ever. `number`, from 1, says which call this is an attempt of; with 0 an attempt after a failed one
/// on the same target counts as the same call. An answer of any status is no failure.
pub fn attempt(target: &str, arguments: &str, timeout: Duration, number: u32) -> Result<Answer, Failure> {
    let mut body = vec![0u8; ANSWER_MAX];
    let timeout_ns = i64::try_from(timeout.as_nanos()).unwrap_or(0);
    let (status, [size, retry_after_ms]) = host(target, arguments, timeout_ns, number, &mut body);
    match status {
        -1 => Err(Failure::Connection),
        -2 => Err(Failure::Timeout),
        _ if size as usize > ANSWER_MAX => Err(Failure::TooLong(size as usize)),
        _ => {
            body.truncate(size as usize);
            let retry_after = Duration::from_millis(u64::from(retry_after_ms));
            Ok(Answer { status: status as u16, body, retry_after })
        }
    }
}

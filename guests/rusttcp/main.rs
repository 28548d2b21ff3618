//! A calculator service over TCP in plain std Rust, one connection at a time.
//!
//!     rusttcp server HOST:PORT [CONNECTIONS]    answers "add 2 3" with "= 5"
//!     rusttcp client HOST:PORT REQUESTS         asks, checks each answer
//!
//! The server ends when CONNECTIONS (1 if not given) have come and gone.
//!
//! Exit codes: 0 done, 1 input or output failed, 2 a wrong answer, 64 usage.

#[path = "../sdk/rust/simnet.rs"]
#[allow(dead_code)]
mod simnet;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::time::{Duration, Instant};

fn answer(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Option<Vec<i64>> = words.iter().skip(1).map(|word| word.parse().ok()).collect();
    match (words.first().copied(), numbers.as_deref()) {
        (Some("add"), Some([a, b])) => format!("= {}", a.wrapping_add(*b)),
        (Some("mul"), Some([a, b])) => format!("= {}", a.wrapping_mul(*b)),
        _ => format!("? {}", line.trim_end()),
    }
}

fn serve(address: &str, connection_count_max: u32) -> io::Result<()> {
    let listener = simnet::TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    // The hasher is seeded by the host's entropy, and the order of this map shows that seed.
    let mut requests_by_verb: HashMap<String, u32> = HashMap::new();
    for _ in 0..connection_count_max {
        let (mut stream, peer) = listener.accept()?;
        println!("connection from {}", peer.ip());
        loop {
            let mut line = String::new();
            let size = {
                let mut reader = BufReader::with_capacity(1, &mut stream);
                reader.read_line(&mut line)
            };
            match size {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let verb = line.split(' ').next().unwrap_or("").to_string();
            *requests_by_verb.entry(verb).or_insert(0) += 1;
            if stream
                .write_all(format!("{}\n", answer(&line)).as_bytes())
                .is_err()
            {
                break;
            }
        }
    }
    println!("requests {:?}", requests_by_verb);
    Ok(())
}

fn connect(address: &str) -> io::Result<simnet::TcpStream> {
    for _ in 0..100 {
        if let Ok(stream) = simnet::TcpStream::connect(address) {
            return Ok(stream);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    simnet::TcpStream::connect(address)
}

fn ask(address: &str, request_count: i64) -> io::Result<bool> {
    let start = Instant::now();
    let mut stream = connect(address)?;
    for index in 0..request_count {
        let (verb, expected) = if index % 2 == 0 {
            ("add", index + 7)
        } else {
            ("mul", index * 7)
        };
        stream.write_all(format!("{} {} 7\n", verb, index).as_bytes())?;
        let mut line = String::new();
        BufReader::new(&mut stream).read_line(&mut line)?;
        if line.trim_end() != format!("= {}", expected) {
            println!("wrong answer to {} {}: {:?}", verb, index, line);
            return Ok(false);
        }
    }
    println!(
        "ok: {} answers in {} us",
        request_count,
        start.elapsed().as_micros()
    );
    Ok(true)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let result = match words[..] {
        ["server", address] => serve(address, 1).map(|_| true),
        ["server", address, count] => serve(address, count.parse().unwrap_or(1)).map(|_| true),
        ["client", address, count] => ask(address, count.parse().unwrap_or(1)),
        _ => {
            println!(
                "usage: rusttcp server HOST:PORT [CONNECTIONS] | rusttcp client HOST:PORT REQUESTS"
            );
            std::process::exit(64);
        }
    };
    match result {
        Ok(true) => {}
        Ok(false) => std::process::exit(2),
        Err(error) => {
            println!("rusttcp: {}", error);
            std::process::exit(1);
        }
    }
}

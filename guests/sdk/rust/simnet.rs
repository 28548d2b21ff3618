//! TCP for Rust programs built for wasm32-wasi (preview 1).
//!
//! `std::net` there can neither connect nor listen. This module opens sockets through the WasmEdge
//! socket imports and hands back types with the names and methods of `std::net`: `TcpStream` (with
//! `Read` and `Write`) and `TcpListener`. Addresses are "host:port"; the host may be a node name of
//! the simulated network. One file, no dependencies: `mod simnet;` or `#[path = "…"] mod simnet;`.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr};

const FAMILY_INET4: u16 = 1;
const FAMILY_INET6: u16 = 2;
const TYPE_STREAM: u8 = 2;
const LEVEL_SOCKET: u32 = 0;
const OPTION_REUSE_ADDRESS: u32 = 0;
const FLAG_NONBLOCK: u32 = 4;
const ADDRESS_SIZE: usize = 128;

#[repr(C)]
struct Buffer {
    address: *const u8,
    size: usize,
}

/// `__wasi_addrinfo_t`, 28 bytes.
#[repr(C)]
struct AddressRecord {
    flags: u16,
    family: u8,
    socket_type: u8,
    protocol: u32,
    address_size: u32,
    address: *mut SocketAddress,
    name: *mut u8,
    name_size: u32,
    next: *mut AddressRecord,
}

/// `__wasi_sockaddr_t`, 12 bytes; the data is a native socket address without its family.
#[repr(C)]
struct SocketAddress {
    family: u8,
    data_size: u32,
    data: *mut u8,
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn sock_open(family: u32, socket_type: u32, fd: *mut u32) -> u32;
    fn sock_bind(fd: u32, address: *const Buffer, port: u32) -> u32;
    fn sock_listen(fd: u32, backlog: u32) -> u32;
    fn sock_connect(fd: u32, address: *const Buffer, port: u32) -> u32;
    fn sock_accept(fd: u32, flags: u32, new: *mut u32) -> u32;
    fn sock_recv(
        fd: u32,
        data: *const Buffer,
        count: u32,
        flags: u32,
        size: *mut u32,
        out: *mut u16,
    ) -> u32;
    fn sock_send(fd: u32, data: *const Buffer, count: u32, flags: u32, size: *mut u32) -> u32;
    fn sock_shutdown(fd: u32, how: u32) -> u32;
    fn sock_setsockopt(fd: u32, level: u32, name: u32, value: *const u32, size: u32) -> u32;
    fn sock_getlocaladdr(fd: u32, address: *const Buffer, port: *mut u32) -> u32;
    fn sock_getpeeraddr(fd: u32, address: *const Buffer, port: *mut u32) -> u32;
    #[allow(clippy::too_many_arguments)]
    fn sock_getaddrinfo(
        node: *const u8,
        node_size: u32,
        service: *const u8,
        service_size: u32,
        hints: *const AddressRecord,
        results: *mut *mut AddressRecord,
        result_count_max: u32,
        result_count: *mut u32,
    ) -> u32;
    fn fd_fdstat_set_flags(fd: u32, flags: u32) -> u32;
    fn fd_close(fd: u32) -> u32;
}

fn check(errno: u32) -> io::Result<()> {
    match errno {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code as i32)),
    }
}

/// Resolves "host:port"; a name is asked of the host of this program.
pub fn resolve(address: &str) -> io::Result<SocketAddr> {
    if let Ok(known) = address.parse() {
        return Ok(known);
    }
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "the address must be host:port");
    let (host, port) = address.rsplit_once(':').ok_or_else(invalid)?;
    let port: u16 = port.parse().map_err(|_| invalid())?;
    let node = format!("{}\0", host);
    let mut data = [0u8; 26];
    let mut name = [0u8; 32];
    let mut target = SocketAddress {
        family: 0,
        data_size: data.len() as u32,
        data: data.as_mut_ptr(),
    };
    let mut record = AddressRecord {
        flags: 0,
        family: 0,
        socket_type: TYPE_STREAM,
        protocol: 0,
        address_size: std::mem::size_of::<SocketAddress>() as u32,
        address: &mut target,
        name: name.as_mut_ptr(),
        name_size: name.len() as u32,
        next: std::ptr::null_mut(),
    };
    let hints = AddressRecord {
        address: std::ptr::null_mut(),
        name: std::ptr::null_mut(),
        ..record
    };
    let mut first: *mut AddressRecord = &mut record;
    let mut count = 0;
    check(unsafe {
        sock_getaddrinfo(
            node.as_ptr(),
            node.len() as u32,
            b"0\0".as_ptr(),
            2,
            &hints,
            &mut first,
            1,
            &mut count,
        )
    })?;
    let family = unsafe { std::ptr::read_volatile(&target.family) } as u16;
    let bytes = unsafe { std::ptr::read_volatile(&data) };
    let ip = match (count, family) {
        (0, _) => return Err(io::Error::new(io::ErrorKind::NotFound, "no such host")),
        (_, FAMILY_INET6) => {
            let mut octets = [0u8; 16];
            octets.copy_from_slice(&bytes[6..22]);
            IpAddr::V6(Ipv6Addr::from(octets))
        }
        _ => IpAddr::V4(Ipv4Addr::new(bytes[2], bytes[3], bytes[4], bytes[5])),
    };
    Ok(SocketAddr::new(ip, port))
}

/// Owns one descriptor.
struct Socket(u32);

impl Drop for Socket {
    fn drop(&mut self) {
        unsafe { fd_close(self.0) };
    }
}

impl Socket {
    fn open(address: &SocketAddr) -> io::Result<Socket> {
        let family = if address.is_ipv4() {
            FAMILY_INET4
        } else {
            FAMILY_INET6
        };
        let mut fd = 0;
        check(unsafe { sock_open(family as u32, TYPE_STREAM as u32, &mut fd) })?;
        Ok(Socket(fd))
    }

    fn with_address(
        address: &SocketAddr,
        call: impl FnOnce(*const Buffer, u32) -> u32,
    ) -> io::Result<()> {
        let octets = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let buffer = Buffer {
            address: octets.as_ptr(),
            size: octets.len(),
        };
        check(call(&buffer, address.port() as u32))
    }

    fn endpoint(
        &self,
        call: unsafe extern "C" fn(u32, *const Buffer, *mut u32) -> u32,
    ) -> io::Result<SocketAddr> {
        let mut bytes = vec![0u8; ADDRESS_SIZE];
        let buffer = Buffer {
            address: bytes.as_mut_ptr(),
            size: ADDRESS_SIZE,
        };
        let mut port = 0;
        check(unsafe { call(self.0, &buffer, &mut port) })?;
        let ip = match u16::from_le_bytes([bytes[0], bytes[1]]) {
            FAMILY_INET6 => {
                let mut octets = [0u8; 16];
                octets.copy_from_slice(&bytes[2..18]);
                IpAddr::V6(Ipv6Addr::from(octets))
            }
            _ => IpAddr::V4(Ipv4Addr::new(bytes[2], bytes[3], bytes[4], bytes[5])),
        };
        Ok(SocketAddr::new(ip, port as u16))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        check(unsafe { fd_fdstat_set_flags(self.0, if nonblocking { FLAG_NONBLOCK } else { 0 }) })
    }
}

/// A connection. Dropping it closes it.
pub struct TcpStream(Socket);

impl TcpStream {
    /// Connects, and waits until the connection stands or has failed.
    pub fn connect(address: &str) -> io::Result<TcpStream> {
        let address = resolve(address)?;
        let socket = Socket::open(&address)?;
        Socket::with_address(&address, |buffer, port| unsafe {
            sock_connect(socket.0, buffer, port)
        })?;
        Ok(TcpStream(socket))
    }

    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.endpoint(sock_getpeeraddr)
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.endpoint(sock_getlocaladdr)
    }

    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking)
    }

    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => 1,
            Shutdown::Write => 2,
            Shutdown::Both => 3,
        };
        check(unsafe { sock_shutdown(self.0 .0, how) })
    }
}

impl Read for TcpStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let buffer = Buffer {
            address: bytes.as_mut_ptr(),
            size: bytes.len(),
        };
        let (mut size, mut flags) = (0, 0);
        check(unsafe { sock_recv(self.0 .0, &buffer, 1, 0, &mut size, &mut flags) })?;
        Ok(size as usize)
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let buffer = Buffer {
            address: bytes.as_ptr(),
            size: bytes.len(),
        };
        let mut size = 0;
        check(unsafe { sock_send(self.0 .0, &buffer, 1, 0, &mut size) })?;
        Ok(size as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A listening socket. Dropping it closes it.
pub struct TcpListener(Socket);

impl TcpListener {
    pub fn bind(address: &str) -> io::Result<TcpListener> {
        let address = resolve(address)?;
        let socket = Socket::open(&address)?;
        let yes = 1u32;
        check(unsafe { sock_setsockopt(socket.0, LEVEL_SOCKET, OPTION_REUSE_ADDRESS, &yes, 4) })?;
        Socket::with_address(&address, |buffer, port| unsafe {
            sock_bind(socket.0, buffer, port)
        })?;
        check(unsafe { sock_listen(socket.0, 128) })?;
        Ok(TcpListener(socket))
    }

    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut fd = 0;
        check(unsafe { sock_accept(self.0 .0, 0, &mut fd) })?;
        let stream = TcpStream(Socket(fd));
        let peer = stream.peer_addr()?;
        Ok((stream, peer))
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.endpoint(sock_getlocaladdr)
    }

    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking)
    }
}

/** What busybox-static offers as commands; each gets a link unless a package has the command. */
export const APPLETS: readonly string[] = (
  '[ [[ ar arch ascii ash awk base64 basename bc blkdiscard blockdev bunzip2 bzcat bzip2 cal cat ' +
  'chgrp chmod chown chroot clear cmp cp cpio crc32 cut date dc dd df diff dirname dmesg ' +
  'dnsdomainname dos2unix du echo ed egrep env expand expr factor fallocate false fgrep find fold ' +
  'free fsfreeze getopt grep groups gunzip gzip head hexdump hostid hostname httpd hwclock id ' +
  'ifconfig insmod ip ipcalc kill killall last less link ln logger logname losetup ls lsmod lzcat ' +
  'md5sum mkdir mkfifo mknod mktemp modprobe more mount mv nc netstat nl nologin nproc nsenter ' +
  'nslookup od partprobe paste patch pidof ping ping6 pivot_root printf ps pwd readlink realpath ' +
  'renice reset rev rm rmdir rmmod route run-parts sed seq setpriv setsid sh sha1sum sha256sum ' +
  'sha3sum sha512sum shred shuf sleep sort start-stop-daemon stat strings stty su swapoff swapon ' +
  'sync sysctl tac tail tar taskset tee telnet test tftp time timeout top touch tr traceroute true ' +
  'truncate ts tty umount uname unexpand uniq unix2dos unlink unshare unxz unzip uptime usleep ' +
  'vi watch wc wget which whoami xargs xxd xz xzcat yes zcat'
).split(' ');

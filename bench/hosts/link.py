"""
A link between this network namespace and another one, with latency and loss: two TUN devices, and this process between
them, which delays every packet by DELAY milliseconds each way and drops LOSS percent of them at random.

    link.py NAMESPACE NEAR_ADDRESS FAR_ADDRESS STORE_ADDRESS DELAY LOSS SEED

Kernels without the module sch_netem have no other way. It prints `ready`, and ends when its standard input closes.
On crash: the devices are gone with the process.
"""
import collections, ctypes, fcntl, os, random, select, struct, subprocess, sys, time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
MOST = 10_000
"""Packets on the way in one direction; more are dropped, as by a full buffer."""


def enter(path):
    with open(path) as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {path}")


def open_tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def set_up(namespace, near, far, store):
    here = f"/proc/{os.getpid()}/ns/net"
    home = open(here)
    near_name = f"mh{near.split('.')[2]}"
    one = open_tun(near_name)
    ip("addr", "add", near, "peer", far, "dev", near_name)
    ip("link", "set", near_name, "up")
    enter(f"/var/run/netns/{namespace}")
    other = open_tun("uplink")
    ip("addr", "add", far, "peer", near, "dev", "uplink")
    ip("link", "set", "uplink", "up")
    ip("link", "set", "lo", "up")
    ip("route", "add", store, "via", near)
    ctypes.CDLL(None).setns(home.fileno(), CLONE_NEWNET)
    return one, other


def forward(one, other, delay, loss, dice):
    to = {one: other, other: one}
    waiting = {one: collections.deque(), other: collections.deque()}
    while True:
        due = [packets[0][0] for packets in waiting.values() if packets]
        wait = max(0, min(due) - time.monotonic()) if due else None
        ready, _, _ = select.select([one, other, 0], [], [], wait)
        if 0 in ready and not os.read(0, 1):
            return
        for fd in (fd for fd in ready if fd):
            receive(fd, waiting[to[fd]], delay, loss, dice)
        now = time.monotonic()
        for fd, packets in waiting.items():
            while packets and packets[0][0] <= now:
                send(fd, packets.popleft()[1])


def receive(fd, packets, delay, loss, dice):
    for _ in range(64):
        try:
            packet = os.read(fd, 65536)
        except BlockingIOError:
            return
        if len(packets) < MOST and dice.random() >= loss:
            packets.append((time.monotonic() + delay, packet))


def send(fd, packet):
    try:
        os.write(fd, packet)
    except OSError:
        pass  # the device is full or down: the packet is lost


if __name__ == "__main__":
    namespace, near, far, store, delay, loss, seed = sys.argv[1:]
    ends = set_up(namespace, near, far, store)
    print("ready", flush=True)
    forward(*ends, float(delay) / 1000, float(loss) / 100, random.Random(int(seed)))

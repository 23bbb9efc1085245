"""Two hosts on this machine: namespaces with a name, processes and a network of their own each, and a cable between them.

The cable carries packets between two TUN devices at a rate and with a delay, for not every kernel has netem: what comes to
an end at t leaves the other at t + bytes / rate + delay, behind those that came before it.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import threading
import time

ADDRESSES = "10.77.0.1", "10.77.0.2"
MTU = 60000  # few packets, so that Python carries a gigabit a second
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000


def run(command):
    subprocess.run(command, check=True, capture_output=True, text=True)


def leave_the_network():
    """From now on this process has a network of its own, where devices may be made and have any names."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no network of its own: " + os.strerror(ctypes.get_errno()))
    run(["ip", "link", "set", "lo", "up"])


class Cable:
    """Ends are devices of this process's network, cable0 and cable1, until they are given to hosts."""

    def __init__(self, bits_per_second, seconds):
        self.rate, self.delay = bits_per_second / 8, seconds
        self.is_cut = False
        self.devices, self.thread = [], None
        try:
            for i in 0, 1:
                self.devices.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
                fcntl.ioctl(self.devices[i], TUNSETIFF, struct.pack("16sH14x", b"cable%d" % i, IFF_TUN | IFF_NO_PI))
        except OSError:
            self.close()
            raise
        self.bell = os.pipe()
        self.thread = threading.Thread(target=self.carry)
        self.thread.start()

    def close(self):
        if self.thread:
            os.write(self.bell[1], b"x")
            self.thread.join()
            for end in self.bell:
                os.close(end)
        for device in self.devices:
            os.close(device)

    def carry(self):
        under_way = [collections.deque(), collections.deque()]  # (when it arrives, packet), by where it came from
        sent = [0.0, 0.0]  # until when the end is at its last packet
        while True:
            now = time.monotonic()
            for i, packets in enumerate(under_way):
                while packets and packets[0][0] <= now:
                    try:
                        os.write(self.devices[1 - i], packets.popleft()[1])
                    except OSError:
                        pass  # the other end is down
            waits = [packets[0][0] - now for packets in under_way if packets]
            ready = select.select([*self.devices, self.bell[0]], [], [], min(waits, default=None))[0]
            if self.bell[0] in ready:
                return
            for i, device in enumerate(self.devices):
                if device not in ready:
                    continue
                packet = os.read(device, 1 << 16)
                sent[i] = max(sent[i], time.monotonic()) + len(packet) / self.rate
                if not self.is_cut:
                    under_way[i].append((sent[i] + self.delay, packet))


class FastCable:
    """A pair of the kernel's own, which carries more than Python does: its token bucket holds the rate, and nothing adds a delay."""

    def __init__(self, bits_per_second):
        self.rate = bits_per_second
        run("ip link add cable0 type veth peer name cable1".split())

    def hold_the_rate(self, host, cable):
        run(host.within(("tc qdisc add dev %s root tbf rate %dbit burst 512kb latency 20ms" % (cable, self.rate)).split()))

    def close(self):
        """The devices go with the hosts."""


class Host:
    """The second's processes see no others, as those of another machine don't; the first's are this machine's, so that
    mpirun, which runs there, can enter the second."""

    def __init__(self, number):
        kinds = ["--net", "--uts"] + (["--pid", "--fork", "--mount-proc", "--kill-child"] if number else [])
        self.entered = ["--net", "--uts"] + (["--pid", "--mount"] if number else [])
        self.holder = subprocess.Popen(["unshare", *kinds, "sh", "-c", "hostname host%d && echo up && exec sleep 1000" % number],
                                       stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "up\n":
            self.close()
            raise OSError("no host")
        self.first = str(self.holder.pid)
        if number:
            with open("/proc/%s/task/%s/children" % (self.first, self.first), encoding="ascii") as children:
                self.first = children.read().split()[0]
        cable = "cable%d" % number
        run(["ip", "link", "set", cable, "netns", self.first])
        for words in "link set lo up", "addr add %s/24 dev %s" % (ADDRESSES[number], cable), "link set %s mtu %d up" % (cable, MTU):
            run(self.within(["ip", *words.split()]))

    def within(self, command):
        return ["nsenter", "--target", self.first, *self.entered, "--", *command]

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class TwoHosts:
    def __init__(self, cable):
        self.hosts = []
        self.cable = cable
        try:
            for number in 0, 1:
                self.hosts.append(Host(number))
                if isinstance(cable, FastCable):
                    cable.hold_the_rate(self.hosts[-1], "cable%d" % number)
        except BaseException:
            self.close()
            raise

    def command(self, agent, program):
        """What starts a rank of `program` on each; `agent` is a file to write, which takes mpirun's part from host to host."""
        with open(agent, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nshift  # the host's name\nexec %s sh -c \"$*\"\n" % " ".join(self.hosts[1].within([])))
        os.chmod(agent, 0o755)
        return self.hosts[0].within(["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ob1", "--mca",
                                     "btl", "tcp,self", "--host", ",".join(ADDRESSES), "--map-by", "node", "-n", "2", *program])

    def close(self):
        self.cable.close()
        for host in self.hosts:
            host.close()


def why_not():
    """Why this machine has no two hosts; empty where it has."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    if "Open MPI" not in version:
        return "mpirun must be Open MPI's, whose way to another host can be replaced"
    if os.getuid() != 0:
        return "networks are root's"
    try:
        leave_the_network()
        TwoHosts(Cable(1e9, 0.01)).close()
    except (OSError, subprocess.CalledProcessError) as error:
        return "this machine makes no two hosts: %s %s" % (error, getattr(error, "stderr", ""))
    return ""

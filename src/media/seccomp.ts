/**
 * The system-call filter of an isolated child: a classic BPF program that bubblewrap loads before it starts the child. A
 * media child computes, reads and writes the files that it gets, and starts threads. It needs no sockets, processes,
 * mounts or tracing.
 */

interface Architecture {
  /** AUDIT_ARCH_… of linux/audit.h */
  audit: number;
  clone: number;
  clone3: number;
  socket: number;
  /** bind, listen */
  serving: readonly number[];
  memfd: number;
  mmap: number;
  denied: readonly number[];
}

/** System calls with the same number on every architecture: added after Linux unified the tables. */
const deniedEverywhere = [
  424, // pidfd_send_signal
  425, 426, 427, // io_uring_setup, _enter, _register
  428, 429, 430, 431, 432, 433, // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick
  434, 438, // pidfd_open, pidfd_getfd
  442, // mount_setattr
  447, // memfd_secret
];

/** By process.arch. Order: memory that no limit counts, sockets, processes, tracing, mounts and namespaces, keys, kernel, handles, clock. */
const architectures: Record<string, Architecture | undefined> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    socket: 41,
    serving: [49, 50],
    memfd: 319,
    mmap: 9,
    denied: [
      29, 64, 68, 319, // shmget, semget, msgget, memfd_create
      41, 42, 43, 49, 50, 288, // socket, connect, accept, bind, listen, accept4
      57, 58, // fork, vfork
      101, 310, 311, 312, // ptrace, process_vm_readv, process_vm_writev, kcmp
      165, 166, 155, 161, 272, 308, // mount, umount2, pivot_root, chroot, unshare, setns
      248, 249, 250, // add_key, request_key, keyctl
      103, 135, 163, 167, 168, 169, 175, 176, 179, // syslog … quotactl
      246, 298, 313, 320, 321, 323, // kexec_load, perf_event_open, finit_module, kexec_file_load, bpf, userfaultfd
      303, 304, // name_to_handle_at, open_by_handle_at
      159, 164, 227, 305, // adjtimex, settimeofday, clock_settime, clock_adjtime
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    socket: 198,
    serving: [200, 201],
    memfd: 279,
    mmap: 222,
    denied: [
      194, 190, 186, 279, // shmget, semget, msgget, memfd_create
      198, 200, 201, 202, 203, 242, // socket, bind, listen, accept, connect, accept4
      117, 270, 271, 272, // ptrace, process_vm_readv, process_vm_writev, kcmp
      39, 40, 41, 51, 97, 268, // umount2, mount, pivot_root, chroot, unshare, setns
      217, 218, 219, // add_key, request_key, keyctl
      60, 89, 92, 105, 106, 116, 142, 224, 225, // quotactl … swapoff
      104, 241, 273, 280, 282, 294, // kexec_load, perf_event_open, finit_module, bpf, userfaultfd, kexec_file_load
      264, 265, // name_to_handle_at, open_by_handle_at
      112, 170, 171, 266, // clock_settime, settimeofday, adjtimex, clock_adjtime
    ],
  },
};

const loadWord = 0x20; // BPF_LD | BPF_W | BPF_ABS
const jumpEqual = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const jumpAtLeast = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const jumpAnyBit = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const and = 0x54; // BPF_ALU | BPF_AND | BPF_K
const give = 0x06; // BPF_RET | BPF_K

const allow = 0x7fff0000;
const killProcess = 0x80000000;
const errno = (number: number) => 0x00050000 | number;
const notPermitted = errno(1);
const notImplemented = errno(38);

/** Offsets in struct seccomp_data. For 64-bit arguments: their low words, on little-endian machines. */
const numberAt = 0;
const architectureAt = 4;
const firstArgumentAt = 16;
const fourthArgumentAt = 40;
/** MAP_SHARED and MAP_ANONYMOUS */
const sharedAnonymous = 0x21;
const cloneThread = 0x00010000;
/** x86-64 numbers from here on are the x32 interface; the list does not cover them, so all are denied. */
const x32Bit = 0x40000000;

type Instruction = [code: number, ifTrue: number, ifFalse: number, value: number];

function encode(program: readonly Instruction[]): Buffer {
  const buffer = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    buffer.writeUInt16LE(code, index * 8);
    buffer.writeUInt8(ifTrue, index * 8 + 2);
    buffer.writeUInt8(ifFalse, index * 8 + 3);
    buffer.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return buffer;
}

const unixFamily = 1;

/**
 * The program for an architecture (`process.arch`); undefined if its numbers are not known. `gpu` also allows what CUDA's
 * driver needs: files in memory, and opening a Unix socket to listen on, which is harmless in a namespace without other
 * processes. Connecting, accepting and all other socket families stay denied.
 */
export function seccompProgram(arch: string, { gpu = false } = {}): Buffer | undefined {
  const table = architectures[arch];
  if (table === undefined) return undefined;
  const allowed = gpu ? [table.socket, ...table.serving, table.memfd] : [];
  const denied = [...table.denied, ...deniedEverywhere].filter((number) => !allowed.includes(number));
  const unixSocketsOnly: Instruction[] = [
    [jumpEqual, 0, 4, table.socket],
    [loadWord, 0, 0, firstArgumentAt],
    [jumpEqual, 1, 0, unixFamily],
    [give, 0, 0, notPermitted],
    [give, 0, 0, allow],
  ];
  // Written pages of shared memory stay when they are unmapped, where the memory of a process does not show them (memory.ts).
  const noSharedMemory: Instruction[] = [
    [jumpEqual, 0, 5, table.mmap],
    [loadWord, 0, 0, fourthArgumentAt],
    [and, 0, 0, sharedAnonymous],
    [jumpEqual, 0, 1, sharedAnonymous],
    [give, 0, 0, notPermitted],
    [give, 0, 0, allow],
  ];
  return encode([
    [loadWord, 0, 0, architectureAt],
    [jumpEqual, 1, 0, table.audit],
    [give, 0, 0, killProcess],
    [loadWord, 0, 0, numberAt],
    [jumpAtLeast, 0, 1, x32Bit],
    [give, 0, 0, notPermitted],
    // clone3 hides its flags in memory: "not implemented" makes the C library fall back to clone.
    [jumpEqual, 0, 1, table.clone3],
    [give, 0, 0, notImplemented],
    ...denied.flatMap((number): Instruction[] => [
      [jumpEqual, 0, 1, number],
      [give, 0, 0, notPermitted],
    ]),
    ...(gpu ? unixSocketsOnly : noSharedMemory),
    // Threads may be started, processes not.
    [jumpEqual, 0, 3, table.clone],
    [loadWord, 0, 0, firstArgumentAt],
    [jumpAnyBit, 1, 0, cloneThread],
    [give, 0, 0, notPermitted],
    [give, 0, 0, allow],
  ]);
}

/** A DNS server on a loopback address, over UDP, whose behaviour is set per name. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6, type AddressInfo } from 'node:net';

/** IP addresses that the name has (none: the name exists and has no address), a failure, or no response at all. */
export type DnsBehaviour = string[] | 'silent' | 'nxdomain' | 'servfail';

export interface NameServer {
  /** `ip:port` */
  hostPort: string;
  /** names of all questions so far, with their type */
  questions: { name: string; type: 'A' | 'AAAA' | 'other' }[];
  close(): Promise<void>;
}

const responseCodes = { nxdomain: 3, servfail: 2 };
const types = { 1: 'A', 28: 'AAAA' } as const;

/** `behave` is called for each question; a response waits for its promise. */
export async function startNameServer(behave: (name: string, type: 'A' | 'AAAA' | 'other') => DnsBehaviour | Promise<DnsBehaviour>, { host = '127.0.0.1', port = 0 } = {}): Promise<NameServer> {
  const socket = createSocket('udp4');
  const questions: NameServer['questions'] = [];
  socket.on('message', (message, { address, port: client }) => {
    const question = readQuestion(message);
    questions.push({ name: question.name, type: question.type });
    void Promise.resolve(behave(question.name, question.type)).then((behaviour) => {
      if (behaviour !== 'silent') socket.send(response(message, question, behaviour), client, address);
    });
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  return {
    hostPort: `${host}:${(socket.address() as AddressInfo).port}`,
    questions,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

interface Question {
  name: string;
  type: 'A' | 'AAAA' | 'other';
  /** offset after the question */
  end: number;
}

/** Reads the question after the 12-byte header: labels, each after its length, then type and class. */
function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = types[message.readUInt16BE(at + 1) as keyof typeof types] ?? 'other';
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

function response(query: Buffer, { type, end }: Question, behaviour: Exclude<DnsBehaviour, 'silent'>): Buffer {
  const addresses = Array.isArray(behaviour) && type !== 'other' ? behaviour.filter((address) => isIPv6(address) === (type === 'AAAA')) : [];
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (Array.isArray(behaviour) ? 0 : responseCodes[behaviour]), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([header, query.subarray(12, end), ...addresses.map(record)]);
}

/** A resource record: pointer to the question's name, type, class IN, 60 s to live, data. */
function record(address: string): Buffer {
  const data = isIPv6(address) ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(data.length === 16 ? 28 : 1, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** Does not support embedded IPv4 notation. */
function ipv6Bytes(address: string): Buffer {
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const missing = 8 - groups(left).length - groups(right).length;
  const all = [...groups(left), ...Array<string>(missing).fill('0'), ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

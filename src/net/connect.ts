/**
 * Opens the sockets of the guarded client. IP addresses are checked three times: in the URL itself, when a name is
 * resolved, and on the connected socket before a byte is written. All IP addresses of a name must pass, and the socket
 * gets exactly those that were checked: the name is not resolved a second time.
 */
import { connect as tcpConnect, isIP } from 'node:net';
import type { Socket, TcpNetConnectOpts } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { buildConnector } from 'undici';
import { containExceptions } from './contain-exceptions.ts';
import { NetFailure } from './failure.ts';
import { guardedLookup } from './guarded-lookup.ts';
import type { LookupOptions } from './guarded-lookup.ts';
import { notAllowed, withoutRootDot } from './policy.ts';
import type { UrlPolicy } from './policy.ts';
import type { NetLogger } from './types.ts';

export interface ConnectorOptions extends LookupOptions {
  /** for name, TCP and TLS together, ms */
  connectMs: number;
  /** further trusted certificate authorities, PEM */
  ca?: string[] | undefined;
  /** tests only: makes the TCP connection */
  tcp?: ((options: TcpNetConnectOpts) => Socket) | undefined;
  logger?: NetLogger | undefined;
  /** ends what is being connected; aborted when the session is closed */
  closing?: AbortSignal | undefined;
}

/**
 * Share of `connectMs` that each but the last IP address of a name may take. Node's default of 250 ms gives up servers on another
 * continent, and the last address is often one of IPv6, which many machines cannot reach. By default this is 1.5 s: enough for one
 * lost packet, which TCP repeats after 1 s.
 */
const attemptShare = 0.15;

/** TLS over a checked socket. Certificates are always verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
function startTls(socket: Socket, hostname: string, ca: string[] | undefined): Socket {
  return tlsConnect({
    socket,
    host: hostname,
    ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  });
}

/** A connector for undici's Agent. Its errors are ReelmendError `url_not_allowed`, NetFailure, or the socket's own. */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  return ({ hostname, protocol, port }, callback) => {
    const isTls = protocol === 'https:';
    // Certificates name the host without the root's dot.
    const server = { hostname: withoutRootDot(hostname), port: Number(port) || (isTls ? 443 : 80), isTls };
    new ConnectionAttempt(options, server, callback).start();
  };
}

interface Server {
  hostname: string;
  port: number;
  isTls: boolean;
}

/** Connects one socket, and reports it, or why there is none, to the callback. */
class ConnectionAttempt {
  readonly #options: ConnectorOptions;
  readonly #server: Server;
  readonly #callback: buildConnector.Callback;
  readonly #lookup = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** over which the server is reached so far: TCP, later TLS */
  #socket: Socket | undefined;

  constructor(options: ConnectorOptions, server: Server, callback: buildConnector.Callback) {
    this.#options = options;
    this.#server = server;
    this.#callback = callback;
    this.#timer = setTimeout(() => this.#fail(notAcceptedInTime()), options.connectMs);
    options.closing?.addEventListener('abort', this.#close, { once: true });
  }

  start(): void {
    this.#orFail(() => {
      const { policy, tcp = tcpConnect, connectMs } = this.#options;
      const { hostname, port } = this.#server;
      if (isIP(hostname) !== 0) policy.checkIp(hostname, hostname, port);
      const lookup = guardedLookup(this.#options, port, this.#lookup.signal);
      const socket = tcp({ host: hostname, port, lookup, noDelay: true, autoSelectFamilyAttemptTimeout: Math.ceil(connectMs * attemptShare) });
      this.#socket = socket.once('error', this.#fail).once('connect', () => this.#orFail(() => this.#connected(socket)));
    });
  }

  #connected(socket: Socket): void {
    const { hostname, port, isTls } = this.#server;
    checkPeer(this.#options.policy, socket, hostname, port);
    if (!isTls) return this.#succeed(socket);
    socket.off('error', this.#fail).on('error', () => undefined); // from here on the TLS socket reports
    const encrypted = startTls(socket, hostname, this.#options.ca);
    this.#socket = encrypted.once('error', this.#fail).once('secureConnect', () => this.#succeed(encrypted));
  }

  #succeed(socket: Socket): void {
    this.#end();
    this.#callback(null, containExceptions(socket, this.#options.logger));
  }

  readonly #fail = (error: Error): void => {
    this.#end();
    this.#socket?.on('error', () => undefined).destroy();
    this.#callback(error, null);
  };

  readonly #close = (): void => this.#fail(this.#options.closing?.reason as Error);

  #end(): void {
    clearTimeout(this.#timer);
    this.#options.closing?.removeEventListener('abort', this.#close);
    this.#lookup.abort();
    this.#socket?.off('error', this.#fail);
  }

  #orFail(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error as Error);
    }
  }
}

const notAcceptedInTime = () => new NetFailure('timeout', 'the server did not accept the connection in time', { retryable: true });

function checkPeer(policy: UrlPolicy, { remoteAddress }: Socket, hostname: string, port: number): void {
  if (remoteAddress === undefined) throw notAllowed('private', 'the socket has no address');
  policy.checkIp(remoteAddress, hostname, port);
}

/**
 * Opens the sockets of the guarded client. IP addresses are checked three times: in the URL itself, when a name is
 * resolved, and on the connected socket before a byte is written. All IP addresses of a name must pass, and the socket
 * gets exactly those that were checked: the name is not resolved a second time.
 */
import { connect as tcpConnect, isIP } from 'node:net';
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { buildConnector } from 'undici';
import { NetFailure } from './failure.ts';
import { notAllowed, withoutRootDot } from './policy.ts';
import type { UrlPolicy } from './policy.ts';
import { createResolver, systemResolver } from './resolver.ts';
import type { Resolver } from './resolver.ts';

/** The part of pino's logger that the client uses. */
export interface NetLogger {
  debug(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

export interface ConnectorOptions {
  policy: UrlPolicy;
  /** for name, TCP and TLS together, ms */
  connectMs: number;
  /** default: createResolver for customers' names, the system's for those that the operator allows */
  resolver?: Resolver | undefined;
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

const customersResolver = createResolver();

/** Names that the operator allows may be those of a search domain, which only the system knows, and are the operator's own. */
function resolverOf({ policy, resolver }: ConnectorOptions, hostname: string, port: number): Resolver {
  return resolver ?? (policy.isExempt(hostname, port) ? systemResolver : customersResolver);
}

/** The signal ends a lookup whose connection is no longer wanted. */
function guardedLookup(options: ConnectorOptions, port: number, signal: AbortSignal): LookupFunction {
  return (hostname, { all }, callback) => {
    const checkedAddresses = async () => {
      const addresses = await resolverOf(options, hostname, port)(hostname, signal);
      if (addresses.length === 0) throw Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' });
      for (const { address } of addresses) options.policy.checkIp(address, hostname, port);
      return addresses.map(({ address, family }) => ({ address, family }));
    };
    checkedAddresses().then(
      (addresses) => {
        if (all === true) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

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

/**
 * undici parses responses inside socket events. An exception there has no caller and would end the process. This ends
 * the connection instead, and its request fails.
 */
function containExceptions(socket: Socket, logger: NetLogger | undefined): Socket {
  const emit = socket.emit.bind(socket) as (...event: unknown[]) => boolean;
  socket.emit = (...event: unknown[]) => {
    try {
      return emit(...event);
    } catch (error) {
      logger?.warn({ err: error }, 'the HTTP client failed; its connection was closed');
      socket.destroy(error as Error);
      return true;
    }
  };
  return socket;
}

const notAcceptedInTime = () => new NetFailure('timeout', 'the server did not accept the connection in time', { retryable: true });

function checkPeer(policy: UrlPolicy, { remoteAddress }: Socket, hostname: string, port: number): void {
  if (remoteAddress === undefined) throw notAllowed('private', 'the socket has no address');
  policy.checkIp(remoteAddress, hostname, port);
}

/** A connector for undici's Agent. Its errors are ReelmendError `url_not_allowed`, NetFailure, or the socket's own. */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { policy, tcp = tcpConnect, closing } = options;
  const socketOptions = { noDelay: true, autoSelectFamilyAttemptTimeout: Math.ceil(options.connectMs * attemptShare) };
  return ({ hostname: name, protocol, port: portText }, callback) => {
    // Certificates name the host without the root's dot.
    const hostname = withoutRootDot(name);
    const port = Number(portText) || (protocol === 'https:' ? 443 : 80);
    let socket: Socket | undefined;
    const ended = new AbortController();
    const finish = (error: Error | null) => {
      clearTimeout(timer);
      closing?.removeEventListener('abort', close);
      ended.abort();
      socket?.off('error', finish);
      if (error === null && socket !== undefined) return callback(null, containExceptions(socket, options.logger));
      socket?.on('error', () => undefined).destroy();
      callback(error ?? new Error('no socket'), null);
    };
    const timer = setTimeout(() => finish(notAcceptedInTime()), options.connectMs);
    const close = () => finish(closing?.reason as Error);
    closing?.addEventListener('abort', close, { once: true });
    try {
      if (isIP(hostname) !== 0) policy.checkIp(hostname, hostname, port);
      const plain = tcp({ host: hostname, port, lookup: guardedLookup(options, port, ended.signal), ...socketOptions });
      socket = plain.once('error', finish).once('connect', () => {
        try {
          checkPeer(policy, plain, hostname, port);
          if (protocol !== 'https:') return finish(null);
          plain.off('error', finish).on('error', () => undefined); // from here on the TLS socket reports
          socket = startTls(plain, hostname, options.ca)
            .once('error', finish)
            .once('secureConnect', () => finish(null));
        } catch (error) {
          finish(error as Error);
        }
      });
    } catch (error) {
      finish(error as Error);
    }
  };
}

/** A connection that LISTENs and is reopened if it is lost. Nothing else needs a database session of its own. */
import pg from 'pg';
import { pgOptions } from './connection-url.ts';
import { defaultSilenceTimeoutS, keepAliveS } from './database.ts';
import { closeWhenSilent } from './dead-connections.ts';

const reconnectMs = 1000;

/** The connection is probed twice within the time that it may be silent. */
const asksPerTimeout = 2;

export interface NotificationListenerOptions {
  /** postgres:// URL that leads to a session: to the server itself, or through a pooler in session mode */
  url: string;
  channels: readonly string[];
  /** name of the connection in pg_stat_activity */
  applicationName: string;
  onNotification(message: pg.Notification): void;
  /** called after each LISTEN: earlier notifications may be lost */
  onListening?(): void;
  /** whether a lost connection is reopened; default: always */
  isNeeded?(): boolean;
  /** a silent connection is replaced after so many seconds; default 60 */
  silenceTimeoutS?: number | undefined;
}

export class NotificationListener {
  readonly #options: NotificationListenerOptions;
  #client: pg.Client | undefined;
  #reconnectTimer: NodeJS.Timeout | undefined;
  #askTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: NotificationListenerOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Opens the connection if there is none. Never rejects: a failed connection is reopened. */
  async open(): Promise<void> {
    if (this.#client !== undefined || this.#isClosed) return;
    const { url, channels, applicationName, onNotification, onListening } = this.#options;
    const client = new pg.Client({
      ...pgOptions(url),
      application_name: applicationName,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1000 * keepAliveS,
    });
    this.#client = client;
    // The client emits `end` after every `error`.
    client.on('error', () => {});
    client.on('end', () => this.#onLost(client));
    client.on('notification', onNotification);
    try {
      await client.connect();
      closeWhenSilent(client, this.#askIntervalMs);
      await client.query(channels.map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`).join('; '));
      if (this.#isClosed) return; // meanwhile: no timer may outlive it
      this.#askOften(client);
      onListening?.();
    } catch {
      await client.end().catch(() => {});
      this.#onLost(client);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#reconnectTimer);
    clearInterval(this.#askTimer);
    await this.#client?.end().catch(() => {});
  }

  /** A connection that only listens would never notice that it is dead. */
  #askOften(client: pg.Client): void {
    clearInterval(this.#askTimer);
    this.#askTimer = setInterval(() => void client.query('SELECT 1').catch(() => {}), this.#askIntervalMs).unref();
  }

  get #askIntervalMs(): number {
    return (1000 * (this.#options.silenceTimeoutS ?? defaultSilenceTimeoutS)) / asksPerTimeout;
  }

  #onLost(client: pg.Client): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = undefined;
    clearTimeout(this.#reconnectTimer);
    clearInterval(this.#askTimer);
    if (this.#options.isNeeded?.() === false) return;
    this.#reconnectTimer = setTimeout(() => void this.open(), reconnectMs).unref();
  }
}

/** How many bytes may wait for clients that don't read. */
export const BACKLOG_LIMITS = {
  /** A stream with more than this is dropped. */
  streamBytes: 2 * 1024 * 1024,
  /**
   * Above these limits, the largest streams are dropped: the account's streams or, for the process, the streams of the
   * account with the most bytes.
   */
  accountBytes: 16 * 1024 * 1024,
  processBytes: 64 * 1024 * 1024,
} as const;

export type BacklogLimits = { streamBytes: number; accountBytes: number; processBytes: number };

/** Why a stream was dropped: the limit it exceeded, or `stalled` if its client didn't read in time. */
export type DropReason = 'stream' | 'account' | 'process' | 'stalled';

/** Ways to end a stream if its client doesn't read. */
type Exits = {
  /** Discards what it can and notifies the client. Returns the bytes that the client must still read to see the end. */
  drop(): number;
  /** Ends the stream immediately and discards everything. */
  cut(): void;
};

/** What is waiting for a stream's client: rows read ahead, frames, and anything else kept until the client reads. */
export type Backlog = {
  /** Counts bytes as waiting until the returned function is called. May drop this stream or other streams. */
  reserve(bytes: number): () => void;
  /** Whether so much data is waiting that nothing more should be read ahead. */
  isCrowded(): boolean;
  /** Sets the stream's account. */
  belongTo(accountId: string): void;
  /** Drops the stream because its client doesn't read. */
  drop(): void;
  /** Removes a stream that has ended. */
  close(): void;
};

export type Backlogs = {
  open(accountId: string, exits: Exits): Backlog;
  /** The bytes waiting in this process. */
  bytes(): number;
};

type Account = { bytes: number; streams: Set<Stream> };
type Stream = { accountId: string; bytes: number; state: 'open' | 'dropped' | 'closed'; exits: Exits };

/**
 * Limits how much data can wait for slow clients: per stream, per account, and per process. Above the process limit,
 * the account with the most bytes loses streams.
 */
export function createBacklogs(
  options: { limits?: BacklogLimits; onDrop?: ((reason: DropReason) => void) | undefined } = {},
): Backlogs {
  const { limits = BACKLOG_LIMITS, onDrop } = options;
  /** Accounts with bytes waiting, by ID. */
  const accounts = new Map<string, Account>();
  let total = 0;

  const bytesOf = (accountId: string) => accounts.get(accountId)?.bytes ?? 0;

  function add(stream: Stream, bytes: number): void {
    const account = accounts.get(stream.accountId) ?? { bytes: 0, streams: new Set() };
    stream.bytes += bytes;
    account.bytes += bytes;
    total += bytes;
    if (stream.bytes > 0) account.streams.add(stream);
    else account.streams.delete(stream);
    if (account.streams.size > 0) accounts.set(stream.accountId, account);
    else accounts.delete(stream.accountId);
  }

  function drop(stream: Stream, reason: DropReason): void {
    if (stream.state !== 'open') return;
    stream.state = 'dropped';
    add(stream, -stream.bytes);
    onDrop?.(reason);
    const left = stream.exits.drop();
    if (isDropped(stream)) add(stream, left);
  }

  function close(stream: Stream): void {
    stream.state = 'closed';
    add(stream, -stream.bytes);
  }

  /** Drops the largest stream: first all the data that isn't on its way yet, then the rest. */
  function dropLargest(accountId: string, reason: DropReason): void {
    const stream = heaviest(accounts.get(accountId)!.streams);
    if (isOpen(stream)) {
      drop(stream, reason);
    } else {
      close(stream);
      stream.exits.cut();
    }
  }

  function keepBounds(stream: Stream): void {
    while (bytesOf(stream.accountId) > limits.accountBytes) dropLargest(stream.accountId, 'account');
    while (total > limits.processBytes) {
      const [accountId] = [...accounts].reduce((most, entry) => (entry[1].bytes > most[1].bytes ? entry : most));
      dropLargest(accountId, 'process');
    }
  }

  return {
    open(accountId, exits) {
      const stream: Stream = { accountId, bytes: 0, state: 'open', exits };
      return {
        reserve(bytes) {
          if (stream.bytes > limits.streamBytes) drop(stream, 'stream');
          if (stream.state !== 'open') return () => {};
          add(stream, bytes);
          keepBounds(stream);
          let isReserved = true;
          return () => {
            if (isReserved && stream.state === 'open') add(stream, -bytes);
            isReserved = false;
          };
        },
        isCrowded: () =>
          bytesOf(stream.accountId) > limits.accountBytes / 4 || total > limits.processBytes / 2 || !isOpen(stream),
        belongTo(nextAccountId) {
          const { bytes } = stream;
          add(stream, -bytes);
          stream.accountId = nextAccountId;
          add(stream, bytes);
        },
        drop: () => drop(stream, 'stalled'),
        close: () => close(stream),
      };
    },
    bytes: () => total,
  };
}

const isOpen = ({ state }: Stream): boolean => state === 'open';
const isDropped = ({ state }: Stream): boolean => state === 'dropped';

function heaviest(streams: Iterable<Stream>): Stream {
  return [...streams].reduce((most, stream) => (stream.bytes > most.bytes ? stream : most));
}

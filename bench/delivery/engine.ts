/** The interface of every engine under test. Each engine runs in its own process. */
export type Engine = {
  /** Creates the engine's tables and destinations in an empty database. */
  prepare(): Promise<void>;
  /** Puts deliveries of 1 KB in the queue in bulk, spread over the given destinations. By default, they are due now. */
  load(count: number, urls: readonly string[], dueInSeconds?: number): Promise<void>;
  /**
   * Publishes one event as a program would, in its own transaction. Resolves after the commit with the event's ID,
   * which is the `webhook-id` of its requests.
   */
  publish(): Promise<string>;
  /** Starts delivering. */
  start(): Promise<void>;
  /** How many attempts have been recorded in the history. */
  recorded(): Promise<number>;
  stop(): Promise<void>;
  /** Statements sent to the database by this process so far. */
  statements(): number;
  /** The claims that this process has made so far, in order, if the engine records them. */
  claims?(): readonly Claim[];
};

/** A statement that claims deliveries. `isComplete` tells whether it started at the beginning of the queue. */
export type Claim = { name: string; isComplete: boolean; milliseconds: number };

export type EngineOptions = {
  databaseUrl: string;
  redisUrl: string | undefined;
  urls: readonly string[];
  /** Another account's destinations, if any. */
  otherUrls?: readonly string[];
};

export const ENGINE_NAMES = ['tollgate', 'graphile-worker', 'pg-boss', 'bullmq'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** About 1 KB, including its envelope. */
export const FILLER = 'x'.repeat(760);

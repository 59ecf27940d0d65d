import type { Readable } from 'node:stream';
import type { Headers } from './headers.ts';

/** A call to an upstream. */
export type UpstreamRequest = {
  origin: string;
  /** Path and query. */
  path: string;
  /** The host where buyers reach the endpoint, with its port if it isn't the default. */
  publicHost: string;
  /**
   * What buyers see instead of the upstream's `Location`, or undefined if they must not see it. `path` is the path and
   * query that the upstream responded to.
   */
  publicLocation(location: string, path: string): string | undefined;
  /**
   * Whether the response may come from the same path with a slash added to or removed from its end. It may not if that
   * path has a different price.
   */
  mayUseOtherSlash(): Promise<boolean>;
  /** Removes the response's headers that buyers must not see, because they repeat the seller's secrets. */
  withhold(headers: Headers): Promise<void>;
  /** A redirect's target as sellers see it, without their secrets. */
  redirectTarget(url: URL): Promise<string>;
  method: string;
  /** The headers for a path and query. They differ because the signature covers both. */
  headersFor(path: string): Headers;
  /** The request's body, or null if it has none. */
  body: Readable | null;
  /** Applies to the whole call, up to the last byte of the response. */
  timeoutMilliseconds: number;
  /** The longest time between two chunks of the response. Default: 30 seconds. */
  idleMilliseconds?: number;
  /** Aborts the call when another process takes over the payment. */
  lost: AbortSignal;
  /** Aborted when the buyer disconnects. Ends the call unless the upstream already has the whole request. */
  gone: AbortSignal;
  /** Holds the response, which can be dropped from now on. */
  memory: ResponseMemory;
};

/** The memory that holds one response. `take` returns false if there is no room; `mayDrop` allows ending the call. */
export type ResponseMemory = { take(bytes: number): boolean; mayDrop(end: () => void): void };

export type UpstreamResponse = {
  statusCode: number;
  /** Contains only the headers that the buyer may see. */
  headers: Headers;
  body: Buffer;
  durationMs: number;
  /** SHA-256 of the sent body in hex, or null if there was none or it wasn't fully read. */
  requestBodyDigest: string | null;
};

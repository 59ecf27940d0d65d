import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Bus, topics } from '../../bus/bus.ts';
import type { Queryable } from '../../database/client.ts';
import { createAddressLimit } from '../../limits/address-limit.ts';
import { createMemoryRateLimiter } from '../../limits/rate-limit.ts';
import { createLru, type Lru } from '../../lru.ts';
import { type Catalog, loadCatalog, type StoredCatalog } from './catalog.ts';
import { llmsTextOf } from './llms-text.ts';
import { openApiOf } from './openapi.ts';
import { resourcesOf } from './resources.ts';

/** All connections that send a document share its bytes. */
export type Document = { body: Buffer; contentType: string; etag: string };

/** Who requests a document. `baseOf`: the base URL for the endpoint paths. Called only if the document exists. */
type Reader = { address: string; baseOf(): string };

/** @throws AppError `RATE_LIMITED` if the reader's address has made the service read and write too much. */
export type DocumentsOf = (projectId: string, path: string, reader: Reader) => Promise<Document | undefined>;

type Entry = {
  catalog: Promise<StoredCatalog | undefined>;
  loadedAt: number;
  texts: Lru<Document>;
  bytes: number;
  forget(): void;
};

/** How long a change can go unnoticed if a hint is lost. */
const MAX_AGE_MILLISECONDS = 10_000;
/** How many bytes to keep, for all projects combined. The projects that were used least recently are dropped. */
const MAX_BYTES = 33_554_432;
/** How much each project counts in addition to its endpoints and documents, even if it has none. */
const ENTRY_BYTES = 4_096;
/**
 * How many documents to cache per project. The number is limited because, without a public URL, a document contains
 * whatever host name the caller sent.
 */
const MAX_TEXTS = 9;
/**
 * How many kilobytes are read and written per minute for a client address. Anyone can request documents that aren't
 * kept, and writing the largest ones takes about 50 ms of CPU time. Each process counts for itself, because it protects
 * its own main thread.
 */
const ADDRESS_KILOBYTES_PER_MINUTE = 32_768;
/** All documents count together. */
const BUCKET = 'documents';

const JSON_TYPE = 'application/json; charset=utf-8';
const KINDS: Readonly<Record<string, { contentType: string; write(catalog: Catalog, base: string): string }>> = {
  '/openapi.json': { contentType: JSON_TYPE, write: (catalog, base) => JSON.stringify(openApiOf(catalog, base)) },
  '/.well-known/x402': { contentType: JSON_TYPE, write: (catalog, base) => JSON.stringify(resourcesOf(catalog, base)) },
  '/llms.txt': { contentType: 'text/plain; charset=utf-8', write: llmsTextOf },
};

/**
 * Documents about a project's active endpoints, for buyers and their agents. They are built on request and kept until
 * an endpoint or the project changes. A project without active endpoints has none, and neither does one whose owner is
 * blocked.
 */
export function openDocuments(options: { db: Queryable; bus: Bus; now?: () => number; maxBytes?: number }): {
  find: DocumentsOf;
  /** How many bytes are kept. */
  cachedBytes(): number;
  close(): void;
} {
  const { db, bus, now = () => performance.now(), maxBytes = MAX_BYTES } = options;
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  let cachedBytes = 0;
  let lastTurn: Promise<unknown> = Promise.resolve();
  const limit = createAddressLimit({
    rateLimiter: createMemoryRateLimiter({ now }),
    scope: 'discovery',
    what: 'large documents',
    requestsPerMinute: ADDRESS_KILOBYTES_PER_MINUTE,
    now,
  });

  const charge = (address: string, bytes: number) => limit.take(address, BUCKET, Math.ceil(bytes / 1024));

  function load(projectId: string): Entry {
    const unsubscribe = bus.subscribe(topics.routes(projectId), forget);
    const catalog = loadCatalog(db, projectId);
    const texts = createLru<Document>(MAX_TEXTS, ({ body }) => count(projectId, entry, -body.length));
    const entry: Entry = { catalog, loadedAt: now(), texts, bytes: 0, forget };
    function forget(): void {
      unsubscribe();
      if (entries.get(projectId) !== entry) return;
      entries.delete(projectId);
      cachedBytes -= entry.bytes;
    }
    entries.set(projectId, entry);
    count(projectId, entry, ENTRY_BYTES);
    catalog.then((loaded) => count(projectId, entry, loaded?.bytes ?? 0), forget);
    return entry;
  }

  /** Adjusts the count when an entry grows or shrinks, and makes room if necessary. */
  function count(projectId: string, entry: Entry, bytes: number): void {
    if (entries.get(projectId) !== entry) return;
    entry.bytes += bytes;
    cachedBytes += bytes;
    for (const oldest of entries.values()) {
      if (cachedBytes <= maxBytes) break;
      oldest.forget();
    }
  }

  function keptEntry(projectId: string): Entry | undefined {
    const known = entries.get(projectId);
    if (!known) return undefined;
    if (now() - known.loadedAt > MAX_AGE_MILLISECONDS) {
      known.forget();
      return undefined;
    }
    entries.delete(projectId);
    entries.set(projectId, known);
    return known;
  }

  async function loadFor(projectId: string, address: string): Promise<Entry> {
    limit.check(address, BUCKET);
    const entry = load(projectId);
    await charge(address, ENTRY_BYTES + ((await entry.catalog)?.bytes ?? 0));
    return entry;
  }

  /** Lets other work run between two documents, because many can be requested at the same time. */
  function takeTurn(): Promise<unknown> {
    lastTurn = lastTurn.then(() => nextTurn());
    return lastTurn;
  }

  /** Writes a document, and keeps it with the project. */
  function write(projectId: string, entry: Entry, key: string, make: () => Document): Document {
    const document = make();
    entry.texts.set(key, document);
    count(projectId, entry, document.body.length);
    return document;
  }

  return {
    async find(projectId, path, { address, baseOf }) {
      const kind = Object.hasOwn(KINDS, path) ? KINDS[path] : undefined;
      if (!kind) return undefined;
      const entry = keptEntry(projectId) ?? (await loadFor(projectId, address));
      const loaded = await entry.catalog;
      if (!loaded) return undefined;
      const base = baseOf();
      const key = `${path} ${base}`;
      if (!entry.texts.has(key)) {
        await charge(address, loaded.bytes);
        await takeTurn();
      }
      const make = () => documentOf(kind.write(loaded.read(), base), kind.contentType);
      return entry.texts.get(key) ?? write(projectId, entry, key, make);
    },
    cachedBytes: () => cachedBytes,
    close() {
      for (const entry of [...entries.values()]) entry.forget();
    },
  };
}

function documentOf(text: string, contentType: string): Document {
  const body = Buffer.from(text);
  return { body, contentType, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}

import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import { sharedNow } from '../../clock.ts';
import { mustBeOneOf } from '../../did-you-mean.ts';
import { AppError, invalidField } from '../../errors.ts';
import type { GraphQLServer } from '../../graphql/yoga.ts';
import type { Authentication } from '../../http/authentication.ts';
import { sendStream } from '../../http/send-stream.ts';
import { ID_PREFIXES, isId } from '../../ids.ts';
import type { Backlogs } from '../../limits/backlog.ts';
import { createSlots, type SlotLimits } from '../../limits/slots.ts';
import { createTurns, type TurnOptions } from '../../limits/turns.ts';
import type { GraphQLContext } from '../../schema/context.ts';
import { columnsOf } from '../openapi-resources.ts';
import type { Query } from '../read-query.ts';
import type { RestRoute } from '../routes/route.ts';
import { partOf, prepareRoute, runDocument } from '../run-route.ts';
import { inAnyCase } from '../values.ts';
import { EXPORT_FORMATS, type ExportFormatName, type Row } from './formats.ts';
import { type Page, readRows } from './pages.ts';

/** How many exports can run at the same time. A client that reads slowly can make one last for hours. */
const EXPORT_LIMITS: SlotLimits = { perAccount: 3, perProcess: 20 };
/** The share of the process's slots that is reserved for accounts without a running export. */
const SHARE_FOR_NEW_ACCOUNTS = 1 / 2;
/** How long clients are told to wait. A small export takes less time than this. */
const RETRY_AFTER_SECONDS = 10;

/** How many requests an export counts as. */
const EXPORT_COST = 10;

/** A client must read this much within the time that `sendStream` allows. */
const CHUNK_BYTES = 64 * 1024;

export type ExportOptions = {
  limits?: SlotLimits | undefined;
  stallMilliseconds?: number | undefined;
  turns?: TurnOptions | undefined;
};

/** Returns a function that creates the handler for an export route. All handlers share the same limits. */
export function createExportHandlers(
  app: FastifyInstance,
  options: {
    server: GraphQLServer;
    schema: GraphQLSchema;
    authentication: Authentication;
    backlogs: Backlogs;
    contextOf(request: FastifyRequest): GraphQLContext;
    exports?: ExportOptions | undefined;
  },
) {
  const {
    server,
    schema,
    authentication,
    backlogs,
    contextOf,
    exports: { limits = EXPORT_LIMITS, stallMilliseconds, turns } = {},
  } = options;
  const forNewAccounts = Math.floor(limits.perProcess * SHARE_FOR_NEW_ACCOUNTS);
  const slots = createSlots(
    { forNewAccounts, ...limits },
    {
      texts: {
        account: `You have ${limits.perAccount} exports running, which is the limit. Wait for one to finish.`,
        process: 'Too many exports are running. Retry later.',
      },
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );
  const inTurn = createTurns(turns);
  const running = new Set<() => void>();
  app.addHook('preClose', async () => {
    for (const cut of running) cut();
  });

  /** Reserves a slot until the response ends. The response ends early if the credential stops being valid. */
  function enter(request: FastifyRequest, reply: FastifyReply): { cut: () => void; signal: AbortSignal } {
    const release = slots.take(request.viewer!.userId);
    // Simply closing the connection would look like the normal end of an HTTP/1.0 response, and some proxies use
    // HTTP/1.0.
    const cut = () => void reply.raw.socket?.resetAndDestroy();
    const credential = { authorization: request.headers.authorization!, address: request.ip };
    // Otherwise, the owner of another project could keep ending the exports of its members.
    const { projectId } = request.params as { projectId?: string };
    const unwatch = authentication.watch(request.viewer!, credential, cut, { projectId });
    const closed = new AbortController();
    const leave = () => {
      release();
      unwatch();
      running.delete(cut);
      closed.abort();
    };
    running.add(cut);
    // The response emits no more events if the client has already disconnected.
    if (reply.raw.closed) leave();
    else reply.raw.once('close', leave);
    return { cut, signal: closed.signal };
  }

  return (route: RestRoute) => {
    const prepared = prepareRoute(schema, route);
    const columns = columnsOf(schema, route);

    function rowsOf(request: FastifyRequest, signal: AbortSignal, after: string | undefined) {
      const params = request.params as Record<string, string>;
      const variables = { ...prepared.readQuery(request.query as Query), ...params, ...route.fixed };
      const read = (page: object) =>
        inTurn(request.viewer!.userId, async () => {
          // The client may have disconnected while it was waiting for its turn.
          if (signal.aborted) throw new AppError('BAD_REQUEST');
          return partOf(await runDocument(server, prepared, { ...variables, ...page }, contextOf(request)), route);
        });
      return route.isPaged ? readRows((page) => read(page) as Promise<Page>, signal, after) : readAtOnce(read);
    }

    return async (request: FastifyRequest, reply: FastifyReply) => {
      const format = formatOf(request.query as Query);
      const after = afterOf(request.query as Query, route);
      const { cut, signal } = enter(request, reply);
      reply.headers(await authentication.countMore(request.viewer!, EXPORT_COST - 1));
      const rows = rowsOf(request, signal, after);
      // Nothing is sent before the first page, so most errors get a normal response.
      const first = await rows.next();
      // The client has disconnected, so nobody gets this response.
      if (signal.aborted) throw new AppError('BAD_REQUEST');
      reply.hijack();
      reply.raw.writeHead(200, {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        'content-type': EXPORT_FORMATS[format][after === undefined ? 'mediaType' : 'mediaTypeOfRows'],
        'content-disposition': `attachment; filename="${fileName(route, format)}"`,
      });
      if (request.method === 'HEAD') {
        reply.raw.end();
        return reply;
      }
      const drop = () => {
        cut();
        return 0;
      };
      const backlog = backlogs.open(request.viewer!.userId, { drop, cut });
      signal.addEventListener('abort', backlog.close);
      const head = after === undefined ? EXPORT_FORMATS[format].head(columns) : '';
      const write = (page: readonly Row[]) =>
        inTurn(request.viewer!.userId, () => EXPORT_FORMATS[format].rows(page, columns));
      const body = chunksOf(write, head, first, rows);
      await sendStream(body, reply.raw, { backlog, log: request.log as Logger, stallMilliseconds, cut });
      return reply;
    };
  };
}

/** @throws AppError `VALIDATION_FAILED` */
function formatOf({ format = 'csv' }: Query): ExportFormatName {
  const names = Object.keys(EXPORT_FORMATS) as ExportFormatName[];
  const name = typeof format === 'string' ? inAnyCase(format, names) : undefined;
  if (name !== undefined) return name;
  throw invalidField('/format', mustBeOneOf(format, names));
}

/**
 * The cursor of the row that the export continues after, or undefined if it starts with the first one.
 *
 * @throws AppError `VALIDATION_FAILED` unless it is the ID of such a row. The row itself may have been deleted.
 */
function afterOf({ after }: Query, { resume }: RestRoute): string | undefined {
  // Routes that can't resume reject the parameter when they read the query.
  if (after === undefined || !resume) return undefined;
  if (typeof after === 'string' && isId(resume.type, after)) return resume.cursorOf(after);
  const example = `\`${ID_PREFIXES[resume.type]}_…\``;
  throw invalidField('/after', `Must be the ID of the last complete row that you have, such as ${example}.`);
}

async function* readAtOnce(read: (page: object) => Promise<unknown>): AsyncGenerator<Row[], void> {
  yield (await read({})) as Row[];
}

async function* chunksOf(
  write: (rows: readonly Row[]) => Promise<string>,
  head: string,
  first: IteratorResult<Row[], void>,
  rest: AsyncGenerator<Row[], void>,
): AsyncGenerator<Uint8Array> {
  const firstRows = first.done ? [] : first.value;
  yield* inChunks(head + (await write(firstRows)));
  for await (const rows of rest) yield* inChunks(await write(rows));
}

function* inChunks(text: string): Generator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** For example, `payments-20260102T030405Z.csv`. */
function fileName({ path }: RestRoute, format: ExportFormatName): string {
  const time = new Date(sharedNow()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `${path.split('/').at(-2)}-${time}.${format}`;
}

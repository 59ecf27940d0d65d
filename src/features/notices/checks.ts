import type pg from 'pg';
import type { Logger } from 'pino';
import { sharedNow } from '../../clock.ts';
import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { listConnectors } from '../../connectors/types/registry.ts';
import { firstKeptAt } from '../../database/partitions.ts';
import { runStatement, type Statement } from '../../database/statement.ts';
import { firstIdAt } from '../../ids.ts';
import {
  API_KEY_EXPIRED,
  API_KEY_EXPIRING,
  CREDENTIAL_EXPIRING,
  DELIVERIES_EXPIRING,
  FACILITATOR_UNREACHABLE,
  HOST_FAILING,
  PAYMENT_UNCERTAIN,
  VENDOR_SHUTDOWN,
} from './check-statements.ts';
import { eachProjectPage, type ProjectPage } from './expiring.ts';
import type { NoticeType } from './types.ts';

type CheckOptions = {
  retentionDays: number;
  definitions: readonly ConnectorDefinition[];
  now: number;
  /** The projects to check. Only the checks in `PAGED` look at some of them at a time. */
  page: ProjectPage;
};

/** The type of notice, and the projects after the first ID, up to the second one. */
type Place = readonly [type: string, after: string, upTo: string | null];

/** How to detect a situation that isn't caused by a single change. */
type Check = (options: CheckOptions, place: Place) => Statement;

/** Warn this long before undelivered deliveries are dropped. */
const EXPIRING_MILLISECONDS = 3 * 86_400_000;
const UNCERTAIN_SECONDS = 3600;
/** The facilitator counts as unreachable after this many failures in a row within this time. */
const UNREACHABLE = { failures: 3, withinMilliseconds: 15 * 60_000 };
/** The reason that `gateway/payment` records when a call to the facilitator fails. */
const FACILITATOR_UNAVAILABLE = 'facilitator_unavailable';
const CREDENTIAL_DAYS = 60;
/**
 * The owner of an API key is warned this many days before it expires. A warning that was due before the key was created
 * is skipped.
 */
const API_KEY_DAYS = { first: 7, second: 1 };
/** How long the notice about an expired API key stays open. */
const EXPIRED_DAYS = 7;
const SHUTDOWN_DAYS = 180;
/** Connector configs that already use the successor of a service that is shutting down. */
const MOVED: Readonly<Record<string, object>> = { opsgenie: { region: 'jsm' } };

/**
 * The checks, by the type of notice they open. A check opens a notice when it first finds a case, updates the notice
 * while the case continues, and closes it afterward.
 */
const CHECKS: Partial<Record<NoticeType, Check>> = {
  'deliveries.expiring': ({ retentionDays, now, page }, place) =>
    DELIVERIES_EXPIRING(
      firstIdAt('Delivery', firstKeptAt(now + EXPIRING_MILLISECONDS, retentionDays)),
      page.after,
      page.upTo,
      ...place,
    ),
  'payment.uncertain': (_options, place) => PAYMENT_UNCERTAIN(UNCERTAIN_SECONDS, ...place),
  'facilitator.unreachable': ({ now, page }, place) =>
    FACILITATOR_UNREACHABLE(
      firstIdAt('Payment', now - UNREACHABLE.withinMilliseconds),
      FACILITATOR_UNAVAILABLE,
      UNREACHABLE.failures,
      page.after,
      page.upTo,
      ...place,
    ),
  'credential.expiring': (_options, place) => CREDENTIAL_EXPIRING(CREDENTIAL_DAYS, ...place),
  'api_key.expiring': (_options, place) => API_KEY_EXPIRING(API_KEY_DAYS.first, API_KEY_DAYS.second, ...place),
  'api_key.expired': (_options, place) => API_KEY_EXPIRED(EXPIRED_DAYS, API_KEY_DAYS.second, ...place),
  'host.failing': (_options, place) => HOST_FAILING(...place),
  'vendor.shutdown': ({ definitions, now }, place) => {
    const ending = definitions.flatMap(({ type, title, shutdown }) =>
      shutdown && Date.parse(shutdown.on) - now <= SHUTDOWN_DAYS * 86_400_000 ? [{ type, title, ...shutdown }] : [],
    );
    return VENDOR_SHUTDOWN(
      ending.map(({ type }) => type),
      ending.map(({ title }) => title),
      ending.map(({ on, advice }) => `The service shuts down on ${longDate(on)}. ${advice}`),
      ending.map(({ type }) => (MOVED[type] ? JSON.stringify(MOVED[type]) : null)),
      ...place,
    );
  },
};

/** These checks look at each project, which can have millions of the rows that they read. */
const PAGED: ReadonlySet<string> = new Set<NoticeType>(['deliveries.expiring', 'facilitator.unreachable']);
const ALL_PROJECTS: ProjectPage = { after: '', upTo: null };

const longDate = (day: string) => new Date(day).toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' });

/**
 * Creates the sweep that runs all checks. Safe to repeat. A failed check doesn't stop the others.
 *
 * @param options `definitions` and `now` are for tests.
 */
export function createNoticeChecks(options: {
  retentionDays: number;
  log: Logger;
  definitions?: readonly ConnectorDefinition[];
  now?: () => number;
}) {
  const { retentionDays, log, definitions = listConnectors(), now = sharedNow } = options;

  return async function checkNotices(pool: pg.Pool): Promise<void> {
    for (const [type, check] of Object.entries(CHECKS)) {
      const onError = (error: unknown) =>
        log.warn({ err: error, notice: type }, "couldn't check for notices; the next round will retry");

      async function checkPage(page: ProjectPage): Promise<void> {
        const options = { retentionDays, definitions, now: now(), page };
        await runStatement(pool, check(options, [type, page.after, page.upTo])).catch(onError);
      }

      if (PAGED.has(type)) await eachProjectPage(pool, checkPage).catch(onError);
      else await checkPage(ALL_PROJECTS);
    }
  };
}

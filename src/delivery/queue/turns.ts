import type { Queryable } from '../../database/client.ts';
import { DUE } from '../../database/due.ts';
import { preparedStatement } from '../../database/statement.ts';
import type { Usage } from '../flow/usage.ts';
import {
  claimFrom,
  DUE_COLUMNS,
  type DueResult,
  type FoundDue,
  FROM_MARK,
  IS_QUEUED,
  IS_URGENT,
  RETRY_CLASS,
} from './claim.ts';
import { type ClaimRequest, requestValues, runClaim } from './claim-result.ts';

/** The maximum number of due deliveries to look at in each retry class. */
const MOST_READ = 2_000;

/**
 * Claims due deliveries of accounts that have received fewer than the account with the most. Like fair queueing in a
 * network, it gives each delivery a number: what its account has received lately, plus the delivery's position among the
 * account's own. The lowest numbers go first, within each account's capacity. Of the account with the most, it claims only
 * what someone is waiting for, last.
 *
 * It looks at the deliveries that became due last, since a newcomer's are there no matter how long the queue is. Also
 * takes $16 and $17 like `CLAIM_DUE`, $18 and $19, accounts and what they received lately, $20, the account that
 * received the most, and $21, how many deliveries to look at.
 */
const CLAIM_IN_TURN = preparedStatement(
  'delivery_claim_in_turn',
  claimFrom(
    `SELECT delivery.*, chosen.turn AS due_rank FROM chosen CROSS JOIN LATERAL (
      SELECT ${DUE_COLUMNS} FROM "Delivery" WHERE "projectId" = chosen."projectId" AND "id" = chosen."id" AND ${IS_QUEUED} FOR UPDATE SKIP LOCKED
    ) AS delivery`,
    `used AS (SELECT * FROM unnest($18::text[], $19::float8[]) AS used(account, amount)),
  newest AS MATERIALIZED (
    SELECT newest.* FROM (VALUES (0), (1)) AS queue(number) CROSS JOIN LATERAL (
      SELECT "id", "projectId", "nextAttemptAt", ${RETRY_CLASS} AS retry_class, ${IS_URGENT} AS "isUrgent"
      FROM "Delivery" WHERE ${FROM_MARK} AND "nextAttemptAt" <= ${DUE}
      ORDER BY "nextAttemptAt" DESC LIMIT $21
    ) AS newest
    WHERE "isUrgent" OR "projectId" NOT IN (SELECT "id" FROM "Project" WHERE "userId" = $20)
  ),
  owner AS (
    SELECT "id" AS "projectId", "userId" AS account FROM "Project"
    WHERE "id" = ANY(ARRAY(SELECT DISTINCT "projectId" FROM newest))
  ),
  numbered AS (
    SELECT "id", "projectId", retry_class, "isUrgent", coalesce(amount, 0) AS amount,
      coalesce(account_capacity.slots, $9::int) AS slots,
      row_number() OVER (PARTITION BY account ORDER BY "isUrgent" DESC, "nextAttemptAt", "id") AS position
    FROM newest JOIN owner USING ("projectId") LEFT JOIN used USING (account) LEFT JOIN account_capacity USING (account)
  ),
  in_turn AS (
    SELECT "id", "projectId", amount + position AS turn, retry_class,
      row_number() OVER (PARTITION BY retry_class ORDER BY amount + position) AS of_class
    FROM numbered
    WHERE position <= slots AND ("isUrgent" OR amount + position < (SELECT amount FROM used WHERE account = $20))
  ),
  chosen AS (SELECT "id", "projectId", turn FROM in_turn WHERE retry_class = 0 OR of_class <= $6 ORDER BY turn LIMIT $1),`,
  ),
);

/**
 * Takes due deliveries of accounts that have received fewer than the account with the most, like `claimDue`. Without
 * this, everyone would wait behind a burst to many destinations that each have capacity.
 *
 * @param options.passOver destinations to skip.
 * @param options.marks the due times in milliseconds before which there is nothing to claim, for first attempts and for
 *   retries.
 */
export async function claimInTurn(
  db: Queryable,
  request: ClaimRequest,
  { amounts, heaviest }: Usage,
  { passOver, marks }: { passOver: readonly string[]; marks: readonly number[] },
): Promise<DueResult> {
  const usage = [[...amounts.keys()], [...amounts.values()], heaviest, MOST_READ] as const;
  const claim = CLAIM_IN_TURN(...requestValues(request), passOver, marks, ...usage);
  const { found, ...result } = await runClaim<FoundDue>(db, claim);
  return { ...found, ...result };
}

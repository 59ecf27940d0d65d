import { describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import { QUICK_RETRIES } from '../../../src/delivery/send/retry-policy.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { text, type VendorCall } from '../support/vendors/vendor.ts';
import { openStage } from './stage.ts';

const { payer, transactionHash } = SAMPLE_PAYLOADS['payment.settled'];
const TRANSACTION_URL = `https://sepolia.basescan.org/tx/${transactionHash}`;

const json = (call: VendorCall) => JSON.parse(call.body);

/** What a reader of the message sees: its text and its link targets. */
const TEXTS: Partial<Record<ConnectorType, (call: VendorCall) => string>> = {
  slack: (call) => JSON.stringify(json(call).blocks),
  discord: (call) => JSON.stringify(json(call).embeds),
  teams: (call) => JSON.stringify(json(call).attachments[0].content),
  telegram: (call) => json(call).text,
  email: (call) =>
    json(call)
      .content.map(({ value }: { value: string }) => value)
      .join(),
  resend: (call) => json(call).text + json(call).html,
};
const TYPES = Object.keys(TEXTS) as ConnectorType[];

describe('a message about a settled payment', () => {
  test('has the full wallet and transaction, and links to the event and to the block explorer', async () => {
    const stage = await openStage();
    try {
      const connectors = await Promise.all(TYPES.map((type) => stage.connect(type)));
      const eventId = await stage.record('payment.settled');
      for (const [index, type] of TYPES.entries()) {
        await stage.deliveriesAre(connectors[index]!.id, 'SUCCEEDED');
        const shown = TEXTS[type]!(stage.vendors.callsTo(type).at(-1)!);
        expect(shown, type).toContain(payer);
        expect(shown.replaceAll(TRANSACTION_URL, ''), type).toContain(transactionHash);
        expect(shown, type).toContain(TRANSACTION_URL);
        expect(shown, type).toContain(`${stage.app.url}/console/projects/${stage.projectId}/events/${eventId}`);
      }
    } finally {
      await stage.close();
    }
  });

  test('has no link to a block explorer if payments are settled on the local chain', async () => {
    const stage = await openStage({}, { config: { sandbox: true } });
    try {
      const { id } = await stage.connect('slack');
      await stage.record('payment.settled');
      await stage.deliveriesAre(id, 'SUCCEEDED');
      const shown = TEXTS.slack!(stage.vendors.callsTo('slack').at(-1)!);
      expect(shown).toContain(transactionHash);
      expect(shown).toContain('Open in the console');
      expect(shown).not.toContain('basescan');
    } finally {
      await stage.close();
    }
  });
});

test('an email is sent once when SendGrid responds with 500, and again only seconds later', async () => {
  const stage = await openStage({ quickRetries: QUICK_RETRIES, retryScheduleSeconds: undefined });
  try {
    const { id } = await stage.connect('email');
    stage.vendors.interfereNext('email', text(500, 'Internal error'));
    await stage.record('payment.settled');
    await expect.poll(() => stage.deliveries(id)).toMatchObject([{ status: 'PENDING', attemptCount: 1 }]);
    const [waiting] = await stage.deliveries(id);
    const path = `${stage.base}/deliveries/${waiting!.id}/explain`;
    const { body } = await stage.user.rest<{ remainingTries: { afterSeconds: number | null }[] }>('GET', path);
    expect(body.remainingTries.map(({ afterSeconds }) => afterSeconds)).toEqual([
      ...[null, 300, 1_800, 7_200, 18_000, 36_000, 86_400],
    ]);
    const [delivery] = await stage.deliveriesAre(id, 'SUCCEEDED');
    expect(delivery).toMatchObject({ attemptCount: 2 });
    const [first, second, ...others] = stage.vendors.timesOf('email');
    expect(others).toEqual([]);
    expect(second! - first!).toBeGreaterThanOrEqual(3_900);
  } finally {
    await stage.close();
  }
});

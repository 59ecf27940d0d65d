import type { BuildContext, ConnectorEvent, ConnectorType } from '../../src/connectors/definition.ts';
import { getConnector } from '../../src/connectors/types/registry.ts';
import { SAMPLE_PAYLOADS } from '../../src/events/samples.ts';
import { EVENT_TYPES, type EventType } from '../../src/events/types.ts';
import { sampleConfig } from '../../test/connectors/support/configs.ts';
import { discordPage } from './discord.ts';
import { resendPage, sendgridPage } from './mail.ts';
import type { PicturePage } from './page.ts';
import { slackPage } from './slack.ts';
import { smsPage } from './sms.ts';
import { teamsPage } from './teams.ts';
import { telegramPage } from './telegram.ts';

/**
 * For each connector type that sends messages to people, the function that renders a request's body as people see it.
 */
export const MESSAGE_PAGES: Readonly<Partial<Record<ConnectorType, (body: string) => PicturePage>>> = {
  slack: slackPage,
  discord: discordPage,
  email: sendgridPage,
  resend: resendPage,
  telegram: telegramPage,
  teams: teamsPage,
  twilio: smsPage,
};

/** The event types that each picture shows. */
export const PICTURED_TYPES: readonly EventType[] = ['payment.settled', 'payment.failed'];

export const PICTURE_CONTEXT: BuildContext = {
  connectorId: 'con_01jc9x2v5qe3w8k4m6n7p9r0st',
  projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
  projectName: 'Weather API',
  selectedTypes: new Set(EVENT_TYPES),
  memory: {},
  attemptNumber: 1,
  previousAttemptAmbiguous: false,
  isRetry: false,
  now: new Date('2026-03-17T09:26:43.380Z'),
  consoleUrl:
    'https://tollgate.example/console/projects/proj_01jc9x2v5qe3w8k4m6n7p9r0st/events/evt_01jc9x2v5qe3w8k4m6n7p9r0st',
};

/** The documented samples have a hash that nobody could take for a real one. A picture should look like the real thing. */
const TRANSACTION_HASH = '0x8d41a7c2f6093be5d27f148ca96b30e54f7d1e8823c9065ab4f3de7210956c3f';

/** An event with the documented sample payload, but with a transaction hash that looks real. */
export function picturedEvent(eventType: EventType): ConnectorEvent {
  const { projectId } = PICTURE_CONTEXT;
  const place = { id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st', timestamp: '2026-03-17T09:26:41.380Z', projectId };
  const sample = SAMPLE_PAYLOADS[eventType];
  const data = {
    ...sample,
    ...('transactionHash' in sample && sample.transactionHash !== null && { transactionHash: TRANSACTION_HASH }),
  };
  return { ...place, type: eventType, test: false, data } as ConnectorEvent;
}

/** Renders a connector type's message about an event. @throws Error if the type sends no messages to people */
export function messagePage(type: ConnectorType, eventType: EventType): PicturePage {
  const definition = getConnector(type);
  const config = definition.config.parse(sampleConfig(type));
  const built = definition.build([picturedEvent(eventType)], config, PICTURE_CONTEXT);
  const page = MESSAGE_PAGES[type];
  if (!page || 'skip' in built) throw new Error(`${type} sends no message about ${eventType}`);
  return page(built.body!);
}

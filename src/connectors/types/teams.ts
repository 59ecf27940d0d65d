import { z } from 'zod';
import { defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { choiceField, vendorUrlField } from '../fields.ts';
import { classifyByStatus, parseJson, valueAt } from '../shared/classify.ts';
import { describeEvent, type Message, type Tone, utcTime } from '../shared/message.ts';

const TONE_STYLES: Readonly<Record<Tone, string>> = {
  info: 'accent',
  success: 'good',
  warning: 'warning',
  danger: 'attention',
};

const config = z.strictObject({
  webhookUrl: vendorUrlField({
    title: 'Workflow URL',
    description: 'The URL of a Teams workflow with the "When a Teams webhook request is received" trigger.',
    secret: true,
    example:
      'https://default0123.45.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/0123/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=…',
    host: /^[a-z0-9.-]+\.environment\.api\.powerplatform\.com$|^prod-\d+\.[a-z0-9-]+\.logic\.azure\.com$/,
    path: /^(?:\/powerautomate\/automations\/direct(?:\/[a-z]{1,3}\/\d+)?)?\/workflows\/[A-Za-z0-9-]+\/triggers\/[\w-]+\/paths\/invoke\/?$/,
    query: (parameters) => Boolean(parameters.get('sig')),
    hint: 'Must be the powerplatform.com URL of a workflow that anyone can trigger (the URL contains sig=). Microsoft retired webhook.office.com.',
  }),
  envelope: choiceField(['message', 'card'], {
    title: 'Envelope',
    description:
      'Use message (default) with the workflow templates in Teams. Use card if you built the workflow yourself and it passes the body to "Post card".',
    example: 'message',
  }).optional(),
});

/** https://learn.microsoft.com/en-us/troubleshoot/power-platform/power-automate/flow-run-issues/triggers-troubleshoot */
const ERROR_CODES: Readonly<Record<string, Outcome>> = {
  DirectApiAuthorizationRequired: {
    kind: 'pause',
    reason:
      'The workflow requires sign-in or has a new signature. Allow anyone to trigger it, and then copy its URL again.',
  },
  WorkflowTriggerIsNotEnabled: {
    kind: 'pause',
    reason: 'The workflow is turned off in Power Automate. Turn it on, then save this connector.',
  },
  TriggerInputSchemaMismatch: {
    kind: 'pause',
    reason:
      "The workflow's trigger expects different data. Remove the schema from the trigger, then save this connector.",
  },
  WorkflowNotFound: {
    kind: 'disable',
    reason: 'The workflow was deleted in Power Automate. Create a new one and save its URL.',
  },
};

export const teams = defineConnector({
  type: 'teams',
  title: 'Microsoft Teams',
  category: 'Communication',
  description: 'Posts every event to a Teams channel or chat as an Adaptive Card, through a workflow.',
  documentationUrl:
    'https://support.microsoft.com/en-us/office/create-incoming-webhooks-with-workflows-for-microsoft-teams-8ae491c7-0394-4861-ba59-055e33f75498',
  config,
  supportsEvent: () => true,
  sellersRespond: true,
  vendorLimit: {
    count: 4,
    perSeconds: 1,
    documentationUrl:
      'https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using',
  },
  build: ([event], { webhookUrl, envelope = 'message' }, context) => {
    const card = renderCard(describeEvent(event, context));
    return {
      method: 'POST',
      url: webhookUrl,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(envelope === 'card' ? card : inMessage(card)),
    };
  },
  classify: (response, { now }) => classify(response, now),
});

function classify(response: ConnectorResponse, now: Date): Outcome {
  const code = valueAt(parseJson(response.body), 'error', 'code');
  if (typeof code === 'string' && response.statusCode >= 400 && Object.hasOwn(ERROR_CODES, code)) {
    return ERROR_CODES[code]!;
  }
  const detail = typeof code === 'string' && /^[A-Za-z]{1,60}$/.test(code) ? code : undefined;
  const outcome = classifyByStatus('Teams', response, { detail, now });
  if (outcome.kind !== 'delivered') return outcome;
  return {
    kind: 'delivered',
    note: "Power Automate started the workflow. It doesn't report whether the card was posted.",
  };
}

function inMessage(card: object) {
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  };
}

/**
 * Facts are rich text, not a FactSet: text blocks and fact sets interpret Markdown, which can't be escaped reliably,
 * but rich text doesn't (https://learn.microsoft.com/en-us/adaptive-cards/authoring-cards/text-features). Mentions need
 * an entity list, which the card doesn't have.
 */
function renderCard({ heading, detail, tone, facts, url, transactionUrl, eventId, at }: Message) {
  const actions = [
    ...(url ? [openUrl('Open in the console', url)] : []),
    ...(transactionUrl ? [openUrl('View the transaction', transactionUrl)] : []),
  ];
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    msteams: { width: 'Full' },
    body: [
      {
        type: 'Container',
        style: TONE_STYLES[tone],
        bleed: true,
        items: [
          { type: 'TextBlock', text: heading, weight: 'Bolder', size: 'Medium', wrap: true },
          ...(detail ? [richText([{ text: detail }])] : []),
        ],
      },
      ...facts.map(({ label, value }) =>
        richText([{ text: `${label}: `, weight: 'Bolder' }, { text: value }], 'Small'),
      ),
      richText([{ text: `${eventId}, ${utcTime(at)}`, isSubtle: true, size: 'Small' }]),
    ],
    ...(actions.length > 0 && { actions }),
  };
}

function openUrl(title: string, url: string) {
  return { type: 'Action.OpenUrl', title, url };
}

function richText(
  runs: readonly { text: string; weight?: string; size?: string; isSubtle?: boolean }[],
  spacing?: string,
) {
  return {
    type: 'RichTextBlock',
    ...(spacing && { spacing }),
    inlines: runs.map((run) => ({ type: 'TextRun', ...run })),
  };
}

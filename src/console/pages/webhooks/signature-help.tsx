import { Code, List, Modal, Stack, Text } from '@mantine/core';
import { Command } from '../../parts/command.tsx';

const NODE = `import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// Pass the raw request body, not the parsed JSON.
const event = webhook.verify(rawBody, headers);`;

/** Explains how a server verifies that a request comes from Tollgate. */
export function SignatureHelp({ onClose }: { onClose(): void }) {
  return (
    <Modal opened onClose={onClose} title="Verify signatures" size="lg">
      <Stack gap="md">
        <Text size="sm">
          Requests are signed according to Standard Webhooks, which has libraries for many languages. In Node.js:
        </Text>
        <Command>{NODE}</Command>
        <Text size="sm">To verify a signature without a library:</Text>
        <List size="sm" spacing={4}>
          <List.Item>
            Decode the part of the secret after <Code>whsec_</Code> from base64 to get the key.
          </List.Item>
          <List.Item>
            Sign <Code>{'{webhook-id}.{webhook-timestamp}.{body}'}</Code> with HMAC-SHA256 and encode the result as
            base64.
          </List.Item>
          <List.Item>
            Compare the result, in constant time, with each <Code>v1,…</Code> in <Code>webhook-signature</Code>. The
            signatures are separated by spaces; one match is enough.
          </List.Item>
          <List.Item>
            Reject requests if their <Code>webhook-timestamp</Code> is off by more than five minutes.
          </List.Item>
          <List.Item>
            You may receive the same <Code>webhook-id</Code> more than once. Store the IDs you’ve processed.
          </List.Item>
        </List>
      </Stack>
    </Modal>
  );
}

import { Code, List, Modal, Stack, Text } from '@mantine/core';
import { Command } from '../../parts/command.tsx';

const NODE = `import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// The body as it came, before any parser has touched it.
const event = webhook.verify(rawBody, headers);`;

/** How a receiver checks that a request comes from here. */
export function SignatureHelp({ onClose }: { onClose(): void }) {
  return (
    <Modal opened onClose={onClose} title="Check signatures" size="lg">
      <Stack gap="md">
        <Text size="sm">
          Requests are signed as Standard Webhooks are. Libraries for many languages check them; this one is for
          Node.js:
        </Text>
        <Command>{NODE}</Command>
        <Text size="sm">By hand:</Text>
        <List size="sm" spacing={4}>
          <List.Item>
            The key is what follows <Code>whsec_</Code> in the secret, decoded from base64.
          </List.Item>
          <List.Item>
            Sign <Code>{'{webhook-id}.{webhook-timestamp}.{body}'}</Code> with HMAC-SHA256, and encode it as base64.
          </List.Item>
          <List.Item>
            <Code>webhook-signature</Code> has one or more of <Code>v1,…</Code>, separated by spaces. One that is equal
            is enough; compare in constant time.
          </List.Item>
          <List.Item>
            Refuse a <Code>webhook-timestamp</Code> that is more than five minutes off.
          </List.Item>
          <List.Item>
            The same <Code>webhook-id</Code> may come more than once: keep the ones you have handled.
          </List.Item>
        </List>
      </Stack>
    </Modal>
  );
}

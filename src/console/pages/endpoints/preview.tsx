import { Alert, Anchor, Badge, Code, Group, Modal, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconExternalLink } from '@tabler/icons-react';
import { Command } from '../../parts/command.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { shortenAddress } from '../../parts/format.ts';
import { gatewayAddress } from '../../parts/gateway-address.ts';
import { useSettings } from '../../session/use-settings.ts';
import { clientSample, curlSample, mcpClientSample } from './buyer-samples.ts';
import { methodsText } from './methods.tsx';
import { type EndpointRow, isFree, priceText } from './rows.ts';
import { TestPayment } from './test-payment.tsx';

const WHEN_CHARGED: Readonly<Record<EndpointRow['settlement'], string>> = {
  AFTER_RESPONSE:
    'The buyer gets the response once the payment is settled. Buyers aren’t charged if your API returns a status of 400 or above.',
  BEFORE_REQUEST:
    'The payment is settled first. Then your API is called, and its response streams to the buyer as it arrives. If the call fails, the buyer can retry once for free.',
};

const WHEN_CHARGED_MCP =
  'The buyer gets the result of a tool call once the payment is settled. Buyers aren’t charged for failed calls or for other requests.';

/** An endpoint as buyers see it: its address, its price, and how to pay. */
export function EndpointPreview({ endpoint, onClose }: { endpoint: EndpointRow; onClose(): void }) {
  const project = useProject();
  const address = gatewayAddress(project, endpoint.path);
  const isMcp = endpoint.protocol === 'MCP';
  // A test payment calls no tool.
  const hasTestPayments = useSettings()?.hasTestPayments && !isMcp;
  return (
    <Modal opened onClose={onClose} title="Buyer preview" size="xl">
      <Stack gap="md">
        {!endpoint.isActive && (
          <Alert color="gray" icon={<IconAlertTriangle size={18} />} title="Disabled">
            Buyers get a 404 until you enable this endpoint.
          </Alert>
        )}
        {endpoint.warnings.map((warning) => (
          <Alert key={warning} color="orange" icon={<IconAlertTriangle size={18} />} title={warning} />
        ))}
        <Stack gap={4} className="panel" p="md">
          <Group gap="sm">
            {isFree(endpoint) ? <Badge color="teal">Free</Badge> : <Badge color="orange">402 Payment Required</Badge>}
            <Text size="sm" c="dimmed">
              {methodsText(endpoint.methods)}
            </Text>
            <Anchor href={address} target="_blank" rel="noreferrer" style={{ overflowWrap: 'anywhere' }}>
              {address} <IconExternalLink size={13} aria-label="(opens in a new tab)" />
            </Anchor>
          </Group>
          <Text fz={26} fw={600}>
            {priceText(endpoint)}{' '}
            {!isFree(endpoint) && (
              <Text span size="sm" c="dimmed">
                in USDC per {isMcp ? 'tool call' : 'request'}
              </Text>
            )}
          </Text>
          {endpoint.description && <Text size="sm">{endpoint.description}</Text>}
          {!isFree(endpoint) && (
            <Text size="sm" c="dimmed">
              Paid to <Code>{shortenAddress(project.walletAddress)}</Code>.{' '}
              {isMcp ? WHEN_CHARGED_MCP : WHEN_CHARGED[endpoint.settlement]}
            </Text>
          )}
        </Stack>
        {hasTestPayments && endpoint.isActive && <TestPayment endpoint={endpoint} />}
        {!isMcp && (
          <>
            <Text size="sm" fw={600}>
              {isFree(endpoint) ? 'Call it' : 'Get the payment terms without paying'}
            </Text>
            <Command>{curlSample(address, endpoint.methods)}</Command>
          </>
        )}
        {!isFree(endpoint) && (
          <>
            <Text size="sm" fw={600}>
              {isMcp ? 'Pay with the MCP client and any x402 client' : 'Pay with any x402 client'}
            </Text>
            <Command>{isMcp ? mcpClientSample(address) : clientSample(address, endpoint.methods)}</Command>
          </>
        )}
      </Stack>
    </Modal>
  );
}

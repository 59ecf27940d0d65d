import { Button, Group, Modal, Stack, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { CreateEndpointDocument, UpdateEndpointDocument } from '../../../generated/console/endpoints.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { changedFields } from '../../parts/changed-fields.ts';
import { useProject } from '../../parts/current-project.tsx';
import { mayBeSecret, useFormDraft } from '../../parts/drafts.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { gatewayAddress } from '../../parts/gateway-address.ts';
import { type HeaderRow, headerRows, headerToSend, keptHeaders, newHeader } from '../../parts/header-values.ts';
import { NeededAgainAlert, neededAgainErrors } from '../../parts/needed-again.tsx';
import { type PayeeChange, PayeeDialog } from '../../parts/payee-dialog.tsx';
import { ForRole } from '../../parts/role.tsx';
import { UpstreamHeadersField } from '../../parts/upstream-headers.tsx';
import { DiscoveryFields } from './discovery-fields.tsx';
import { checkJson, discoveryInput, discoveryValues } from './discovery-values.ts';
import { DEFAULT_METHODS, MethodsField } from './methods.tsx';
import { ProtocolField } from './protocol-field.tsx';
import type { EndpointRow } from './rows.ts';
import { initialSettlement, SettlementFields, settlementValues } from './settlement-fields.tsx';

/** What is kept while the user signs in again. New values of headers are secret, and have to be entered again. */
function withoutSecrets<Values extends { upstreamUrl: string; upstreamHeaders: HeaderRow[] }>(
  { upstreamHeaders, upstreamUrl, ...kept }: Values,
  stored: readonly HeaderRow[],
) {
  const isMasked = ({ value }: HeaderRow) => stored.some((header) => header.value === value);
  return {
    ...kept,
    ...(!mayBeSecret(upstreamUrl) && { upstreamUrl }),
    upstreamHeaders: upstreamHeaders.map((row) => (isMasked(row) ? row : { ...row, value: '' })),
  };
}

/** The form that creates or changes an endpoint. */
export function EndpointForm(props: { endpoint?: EndpointRow; onClose(): void; onSaved(endpoint: EndpointRow): void }) {
  const { endpoint, onClose, onSaved } = props;
  const project = useProject();
  const storedHeaders = headerRows(endpoint?.upstreamHeaders ?? []);
  const neededAgain = (values: { upstreamUrl: string; upstreamHeaders: typeof storedHeaders }) =>
    endpoint && values.upstreamUrl !== endpoint.upstreamUrl
      ? keptHeaders('upstreamHeaders', values.upstreamHeaders, storedHeaders)
      : [];
  const form = useForm({
    initialValues: {
      path: endpoint?.path ?? '/',
      upstreamUrl: endpoint?.upstreamUrl ?? '',
      priceUsd: endpoint?.priceUsd ?? '0.01',
      description: endpoint?.description ?? '',
      forwardedHeaders: endpoint?.forwardedHeaders ?? [],
      upstreamHeaders: storedHeaders,
      methods: endpoint?.methods ?? DEFAULT_METHODS,
      protocol: endpoint?.protocol ?? ('HTTP' as const),
      ...discoveryValues(endpoint),
      ...initialSettlement(endpoint),
    },
    validate: (values) => ({
      ...neededAgainErrors(neededAgain(values)),
      inputSchema: checkJson(values.inputSchema),
      exampleResponse: checkJson(values.exampleResponse),
    }),
  });
  const creation = useSubmit(CreateEndpointDocument);
  const change = useSubmit(UpdateEndpointDocument);
  const { problem, isBusy } = endpoint ? change : creation;
  useServerErrors(form, problem);
  useFormDraft('endpoint', form, (values) => withoutSecrets(values, storedHeaders));
  const [moved, setMoved] = useState<PayeeChange>();
  const isMcp = form.values.protocol === 'MCP';
  function inputOf({ upstreamHeaders, methods, ...rest }: typeof form.values) {
    const isChanged = JSON.stringify(upstreamHeaders) !== JSON.stringify(storedHeaders);
    return {
      ...rest,
      ...discoveryInput(rest),
      ...settlementValues(rest),
      // The service sets the methods of an MCP endpoint.
      ...(rest.protocol === 'HTTP' ? { methods } : { settlement: 'AFTER_RESPONSE' as const }),
      ...(isChanged && { upstreamHeaders: upstreamHeaders.map(headerToSend) }),
    };
  }
  async function save(entered: typeof form.values) {
    const values = inputOf(entered);
    const changes = changedFields(values, inputOf(form.getInitialValues()));
    const saved = endpoint
      ? (await change.submit({ input: { id: endpoint.id, ...changes } }))?.updateEndpoint
      : (await creation.submit({ input: { projectId: project.id, ...values } }))?.createEndpoint;
    setMoved(undefined);
    if (saved) onSaved(saved.endpoint);
  }
  const submitForm = form.onSubmit((values) => {
    const [before, after] = [endpoint?.upstreamUrl, values.upstreamUrl.trim()];
    if (before !== undefined && before !== after) setMoved({ field: 'upstreamUrl', before, after });
    else void save(values);
  });
  const headerProblem = Object.entries(form.errors).find(([name]) => name.startsWith('forwardedHeaders'))?.[1];
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnEscape={!moved}
      title={endpoint ? 'Edit endpoint' : 'New endpoint'}
      size="lg"
    >
      <ForRole lowest="DEVELOPER">
        <form onSubmit={submitForm}>
          <Stack gap="md">
            <FormProblem form={form} problem={problem} />
            <TextInput
              label="Path"
              description={`Buyers call ${gatewayAddress(project, form.getValues().path)}. “:id” matches one segment; a trailing “*” matches the rest.`}
              required
              data-autofocus
              spellCheck={false}
              {...form.getInputProps('path')}
            />
            <ProtocolField {...form.getInputProps('protocol')} />
            {!isMcp && <MethodsField {...form.getInputProps('methods')} />}
            <TextInput
              label="Upstream URL"
              description="Where paid requests are forwarded. Buyers never see this URL."
              placeholder="https://api.example.com/v1/weather"
              required
              spellCheck={false}
              {...form.getInputProps('upstreamUrl')}
            />
            <TextInput
              label="Price (USD)"
              description="Per request or tool call, with up to six decimal places. 0 makes the endpoint free. The old price stays valid for two minutes after a change."
              required
              inputMode="decimal"
              leftSection="$"
              {...form.getInputProps('priceUsd')}
            />
            <Textarea
              label="Description"
              description="Shown to buyers with the price."
              autosize
              minRows={2}
              {...form.getInputProps('description')}
            />
            <TagsInput
              label="Forwarded headers"
              description="Names of request headers to forward to your API in addition to the default ones, for example, x-api-version."
              splitChars={[',', ' ']}
              acceptValueOnBlur
              {...form.getInputProps('forwardedHeaders')}
              error={headerProblem}
            />
            <SettlementFields
              settlement={isMcp ? undefined : form.getInputProps('settlement')}
              timeoutSeconds={form.getInputProps('timeoutSeconds')}
            />
            <NeededAgainAlert needed={neededAgain(form.values)} />
            <UpstreamHeadersField
              form={form}
              description="Added to every request to your API. Use these headers for credentials, such as an API key."
              onAdd={(preset) => form.insertListItem('upstreamHeaders', newHeader(preset))}
            />
            <DiscoveryFields form={form} />
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={isBusy}>
                {endpoint ? 'Save changes' : 'Create endpoint'}
              </Button>
            </Group>
          </Stack>
        </form>
      </ForRole>
      {moved && (
        <PayeeDialog
          changes={[moved]}
          isBusy={isBusy}
          onClose={() => setMoved(undefined)}
          onConfirm={() => void save(form.getValues())}
        />
      )}
    </Modal>
  );
}

import { Button, Group, Modal, Stack, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { CreateEndpointDocument, UpdateEndpointDocument } from '../../../generated/console/endpoints.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { gatewayAddress } from '../../parts/gateway-address.ts';
import type { EndpointRow } from './rows.ts';

/** The form that creates or changes an endpoint. */
export function EndpointForm(props: { endpoint?: EndpointRow; onClose(): void; onSaved(endpoint: EndpointRow): void }) {
  const { endpoint, onClose, onSaved } = props;
  const project = useProject();
  const form = useForm({
    initialValues: {
      path: endpoint?.path ?? '/',
      upstreamUrl: endpoint?.upstreamUrl ?? '',
      priceUsd: endpoint?.priceUsd ?? '0.01',
      description: endpoint?.description ?? '',
      forwardedHeaders: endpoint?.forwardedHeaders ?? [],
    },
  });
  const creation = useSubmit(CreateEndpointDocument);
  const change = useSubmit(UpdateEndpointDocument);
  const { problem, isBusy } = endpoint ? change : creation;
  useServerErrors(form, problem);
  const save = form.onSubmit(async (values) => {
    const saved = endpoint
      ? (await change.submit({ input: { id: endpoint.id, ...values } }))?.updateEndpoint
      : (await creation.submit({ input: { projectId: project.id, ...values } }))?.createEndpoint;
    if (saved) onSaved(saved.endpoint);
  });
  const headerProblem = Object.entries(form.errors).find(([name]) => name.startsWith('forwardedHeaders'))?.[1];
  return (
    <Modal opened onClose={onClose} title={endpoint ? 'Edit endpoint' : 'New endpoint'} size="lg">
      <form onSubmit={save}>
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
          <TextInput
            label="Upstream URL"
            description="Where paid requests are forwarded. Buyers never see it."
            placeholder="https://api.example.com/v1/weather"
            required
            spellCheck={false}
            {...form.getInputProps('upstreamUrl')}
          />
          <TextInput
            label="Price (USD)"
            description="Per request, with up to six decimal places. The old price stays valid for two minutes after a change."
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
            description="Names of request headers that your API receives in addition to the usual ones, for example, x-api-version."
            splitChars={[',', ' ']}
            acceptValueOnBlur
            {...form.getInputProps('forwardedHeaders')}
            error={headerProblem}
          />
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
    </Modal>
  );
}

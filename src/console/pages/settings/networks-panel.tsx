import { Button, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { UpdateNetworksDocument } from '../../../generated/console/networks.ts';
import type { ProjectSettingsQuery } from '../../../generated/console/settings.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { NetworksField, usePaymentNetworks } from '../../parts/network-fields.tsx';
import { Panel } from '../../parts/page.tsx';
import { showDone } from '../../parts/toast.tsx';

type Settings = NonNullable<ProjectSettingsQuery['project']>;

/** The networks that buyers can pay on. Shows nothing if there is only one network. */
export function NetworksPanel({ settings: { id, mode, networks } }: { settings: Settings }) {
  const form = useForm({ initialValues: { networks } });
  const possible = usePaymentNetworks().filter((network) => network.mode === mode);
  const { submit, problem, isBusy } = useSubmit(UpdateNetworksDocument);
  useServerErrors(form, problem);
  if (possible.length < 2) return null;
  const save = form.onSubmit(async (values) => {
    const saved = (await submit({ input: { id, networks: values.networks } }))?.updateProject?.project;
    if (!saved) return;
    form.setInitialValues({ networks: saved.networks });
    form.reset();
    showDone('Changes saved');
  });
  return (
    <Panel title="Networks">
      <form onSubmit={save}>
        <Stack gap="md" maw={560}>
          <FormProblem form={form} problem={problem} />
          <NetworksField form={form} mode={mode} />
          <Group>
            <Button type="submit" loading={isBusy} disabled={!form.isDirty()}>
              Save networks
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

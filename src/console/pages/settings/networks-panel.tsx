import { Button, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { UpdateNetworksDocument } from '../../../generated/console/networks.ts';
import type { ProjectSettingsQuery } from '../../../generated/console/settings.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useFormDraft } from '../../parts/drafts.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { NetworksField, usePaymentNetworks } from '../../parts/network-fields.tsx';
import { Panel } from '../../parts/page.tsx';
import { type PayeeChange, PayeeDialog } from '../../parts/payee-dialog.tsx';
import { showDone } from '../../parts/toast.tsx';

type Settings = NonNullable<ProjectSettingsQuery['project']>;

/** The networks that buyers can pay on. Shows nothing if there is only one network. */
export function NetworksPanel({ settings: { id, mode, networks } }: { settings: Settings }) {
  const form = useForm({ initialValues: { networks } });
  const possible = usePaymentNetworks().filter((network) => network.mode === mode);
  const [toConfirm, setToConfirm] = useState<PayeeChange>();
  const { submit, problem, isBusy } = useSubmit(UpdateNetworksDocument);
  useServerErrors(form, problem);
  useFormDraft('networks', form);
  if (possible.length < 2) return null;
  const titlesOf = (chosen: readonly string[]) =>
    chosen.map((name) => possible.find(({ network }) => network === name)?.title ?? name).join(', ') || 'All';
  const confirm = form.onSubmit((values) =>
    setToConfirm({ field: 'networks', before: titlesOf(networks), after: titlesOf(values.networks) }),
  );
  async function save() {
    const saved = (await submit({ input: { id, networks: form.getValues().networks } }))?.updateProject?.project;
    setToConfirm(undefined);
    if (!saved) return;
    form.setInitialValues({ networks: saved.networks });
    form.reset();
    showDone('Changes saved');
  }
  return (
    <Panel title="Networks">
      <form onSubmit={confirm}>
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
      {toConfirm && (
        <PayeeDialog
          changes={[toConfirm]}
          isBusy={isBusy}
          onClose={() => setToConfirm(undefined)}
          onConfirm={() => void save()}
        />
      )}
    </Panel>
  );
}

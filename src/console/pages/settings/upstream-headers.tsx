import { Button, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type ProjectSettingsQuery, UpdateProjectDocument } from '../../../generated/console/settings.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { headerRows, headerToSend, newHeader } from '../../parts/header-values.ts';
import { Panel } from '../../parts/page.tsx';
import { showDone } from '../../parts/toast.tsx';
import { UpstreamHeadersField } from '../../parts/upstream-headers.tsx';

type Settings = Pick<NonNullable<ProjectSettingsQuery['project']>, 'id' | 'upstreamHeaders'>;

/** The headers that the gateway adds to requests to the project's upstreams. */
export function UpstreamHeaders({ settings: { id, upstreamHeaders } }: { settings: Settings }) {
  const form = useForm({ initialValues: valuesOf(upstreamHeaders) });
  const { submit, problem, isBusy } = useSubmit(UpdateProjectDocument);
  useServerErrors(form, problem);
  const save = form.onSubmit(async (values) => {
    const headers = values.upstreamHeaders.map((header) => ({ ...headerToSend(header), urlPrefix: header.urlPrefix }));
    const saved = (await submit({ input: { id, upstreamHeaders: headers } }))?.updateProject?.project;
    if (!saved) return;
    // Show what the service stored: masked values and normalized URLs.
    const stored = valuesOf(saved.upstreamHeaders);
    form.setInitialValues(stored);
    form.setValues(stored);
    showDone('Changes saved');
  });
  return (
    <Panel title="Upstream headers">
      <form onSubmit={save}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <UpstreamHeadersField
            form={form}
            description="Each header is added to requests to its URL and the paths below it, unless the endpoint has its own header with the same name."
            isOfProject
            onAdd={(preset) => form.insertListItem('upstreamHeaders', { ...newHeader(preset), urlPrefix: '' })}
          />
          <Group>
            <Button type="submit" loading={isBusy} disabled={!form.isDirty()}>
              Save headers
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function valuesOf(upstreamHeaders: Settings['upstreamHeaders']) {
  return { upstreamHeaders: headerRows(upstreamHeaders) };
}

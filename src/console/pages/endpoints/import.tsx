import { Button, FileInput, Group, Modal, SegmentedControl, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { PreviewImportDocument } from '../../../generated/console/imports.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { mayBeSecret, useDraft } from '../../parts/drafts.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import type { SalesChange } from './confirm-import.tsx';
import { ImportItems } from './import-items.tsx';
import { IMPORT_DRAFT, type ImportPreview, type ImportSource } from './import-values.ts';

const MAX_FILE_BYTES = 5 * 1024 * 1024;
const FORMATS = '.json,.yaml,.yml,application/json,application/yaml,text/yaml';
const PLACES = [
  { value: 'document', label: 'Paste' },
  { value: 'file', label: 'File' },
  { value: 'url', label: 'URL' },
] as const;
type Place = (typeof PLACES)[number]['value'];

/** Imports endpoints from an OpenAPI document: the user enters it, chooses endpoints and prices, and sees the results. */
export function ImportDialog({ onClose, onImported }: { onClose(): void; onImported(): void }) {
  const project = useProject();
  const [place, setPlace] = useState<Place>('document');
  const [found, setFound] = useState<{ source: ImportSource; preview: ImportPreview }>();
  const [toConfirm, setToConfirm] = useState<readonly SalesChange[]>();
  const form = useForm({
    initialValues: { document: '', file: null as File | null, url: '', upstreamUrl: '', priceUsd: '0.01' },
    validate: {
      file: (file) => (file && file.size > MAX_FILE_BYTES ? 'The file is larger than 5 MB.' : null),
    },
  });
  const { submit, problem, isBusy } = useSubmit(PreviewImportDocument);
  useServerErrors(form, problem);
  useDraft(
    IMPORT_DRAFT,
    () => {
      const { document, url, upstreamUrl, priceUsd } = form.getValues();
      const urls = { url: mayBeSecret(url) ? '' : url, upstreamUrl: mayBeSecret(upstreamUrl) ? '' : upstreamUrl };
      // A file can't be put back into its field, but its text can be pasted.
      const values = { ...urls, priceUsd, document: found?.source.document ?? document };
      return { place: place === 'file' ? ('document' as const) : place, values };
    },
    (draft) => {
      setPlace(draft.place);
      form.setValues(draft.values);
    },
  );
  const compare = form.onSubmit(async ({ document, file, url, upstreamUrl, priceUsd }) => {
    const source = {
      ...(place === 'url' ? { url } : { document: place === 'file' ? ((await file?.text()) ?? '') : document }),
      ...(upstreamUrl && { upstreamUrl }),
    };
    const result = await submit({ input: { projectId: project.id, priceUsd, ...source } });
    if (result?.previewImport) setFound({ source, preview: result.previewImport });
  });
  if (found) {
    return (
      <Modal opened onClose={onClose} closeOnEscape={!toConfirm} title="Import endpoints" size="80rem">
        <ImportItems
          {...found}
          toConfirm={toConfirm}
          setToConfirm={setToConfirm}
          onBack={() => setFound(undefined)}
          onClose={onClose}
          onImported={onImported}
        />
      </Modal>
    );
  }
  // The server always reports errors for the field `document`, even if the text came from a file.
  const fileProblem = form.errors.file ?? form.errors.document;
  return (
    <Modal opened onClose={onClose} title="Import endpoints" size="lg">
      <form onSubmit={compare}>
        <Stack gap="md">
          <FormProblem form={form} problem={problem} />
          <SegmentedControl
            aria-label="Document source"
            data={[...PLACES]}
            value={place}
            onChange={(value) => {
              setPlace(value as Place);
              form.clearErrors();
            }}
          />
          {place === 'document' && (
            <Textarea
              label="OpenAPI document"
              description="OpenAPI 3.0 or 3.1, or Swagger 2.0. JSON or YAML, up to 5 MB."
              required
              data-autofocus
              spellCheck={false}
              rows={10}
              classNames={{ input: 'mono' }}
              {...form.getInputProps('document')}
            />
          )}
          {place === 'file' && (
            <FileInput
              label="OpenAPI file"
              description="OpenAPI 3.0 or 3.1, or Swagger 2.0. JSON or YAML, up to 5 MB."
              placeholder="Choose a file"
              required
              accept={FORMATS}
              {...form.getInputProps('file')}
              error={fileProblem}
            />
          )}
          {place === 'url' && (
            <TextInput
              label="Document URL"
              description="The server fetches the document without credentials."
              placeholder="https://api.example.com/openapi.json"
              required
              spellCheck={false}
              {...form.getInputProps('url')}
            />
          )}
          <TextInput
            label="Upstream URL"
            description="The URL of your API. Paths are appended to it. Leave empty to use the document’s first server."
            placeholder="https://api.example.com/v1"
            spellCheck={false}
            {...form.getInputProps('upstreamUrl')}
          />
          <TextInput
            label="Default price (USD)"
            description="Per request, for new endpoints. You can change each price in the next step."
            required
            inputMode="decimal"
            leftSection="$"
            {...form.getInputProps('priceUsd')}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              Show endpoints
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

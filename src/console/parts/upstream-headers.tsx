import type { UseFormReturnType } from '@mantine/form';
import { HeaderTable, WRITE_ONLY } from './header-table.tsx';
import type { HeaderPreset, HeaderRow } from './header-values.ts';

const PRESETS: readonly HeaderPreset[] = [
  { label: 'Bearer token', name: 'Authorization', value: 'Bearer ' },
  { label: 'Basic', name: 'Authorization', value: 'Basic ' },
  { label: 'API key', name: 'X-Api-Key', value: '' },
];
const URL_PREFIX = [{ name: 'urlPrefix', label: 'URL', spoken: 'URL', placeholder: 'https://api.example.com/v1' }];

/**
 * The headers that the gateway adds to requests to an upstream.
 *
 * @param props `isOfProject`: whether the headers belong to a project. A project's headers each have a URL that selects
 * the upstreams. `description`: which requests the headers are added to.
 */
export function UpstreamHeadersField<Values extends { upstreamHeaders: readonly HeaderRow[] }>(props: {
  form: UseFormReturnType<Values>;
  description: string;
  isOfProject?: boolean;
  onAdd(preset?: HeaderPreset): void;
}) {
  const { form, description, isOfProject = false, onAdd } = props;
  return (
    <HeaderTable
      form={form}
      field="upstreamHeaders"
      rows={form.getValues().upstreamHeaders}
      label="Upstream headers"
      description={`${description} For Basic, enter the user name and password as user:password. Values are secret. ${WRITE_ONLY}`}
      more={isOfProject ? URL_PREFIX : []}
      isAlone={isOfProject}
      presets={PRESETS}
      onAdd={onAdd}
    />
  );
}

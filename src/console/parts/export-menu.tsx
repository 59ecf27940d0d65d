import { Button, Menu } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useApi } from '../api/client.ts';
import { DownloadError, saveFile } from '../api/download.ts';
import { useProject } from './current-project.tsx';
import { formatBytes } from './format.ts';
import { showDone, showFailure } from './toast.tsx';

const FORMATS = [
  { format: 'csv', label: 'CSV' },
  { format: 'jsonl', label: 'JSON Lines' },
];

/** The list's filters as REST query parameters. Empty ones are left out. */
type Filters = Readonly<Record<string, string | readonly string[] | null | undefined>>;

/** Exports everything that matches the page's filters, not only the current page of the list. */
export function ExportMenu({ what, filters = {} }: { what: string; filters?: Filters }) {
  const api = useApi();
  const project = useProject();
  const [bytes, setBytes] = useState<number>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  async function run(format: string): Promise<void> {
    const controller = new AbortController();
    running.current = controller;
    setBytes(0);
    try {
      const path = `/api/projects/${project.id}/${what}/export?${queryOf(format, filters)}`;
      await saveFile(api, path, { signal: controller.signal, onProgress: setBytes });
      showDone('Export complete');
    } catch (error) {
      if (controller.signal.aborted) return;
      if (!(error instanceof DownloadError)) throw error;
      showFailure('Export failed', error.problem);
    } finally {
      setBytes(undefined);
    }
  }

  if (bytes !== undefined) {
    return (
      <Button variant="default" size="xs" onClick={() => running.current?.abort()}>
        Cancel export ({formatBytes(bytes)})
      </Button>
    );
  }
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<IconDownload size={14} />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {FORMATS.map(({ format, label }) => (
          <Menu.Item key={format} onClick={() => void run(format)}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function queryOf(format: string, filters: Filters): URLSearchParams {
  const query = new URLSearchParams({ format });
  for (const [name, value] of Object.entries(filters)) {
    for (const item of [value ?? []].flat()) query.append(name, item);
  }
  return query;
}

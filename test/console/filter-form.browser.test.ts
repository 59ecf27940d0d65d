import { describe, expect, test } from 'vitest';
import { createEndpoint, createWebhook } from '../support/resources.ts';
import { type ConsolePage, executablePath, expectAccessible } from './browser.ts';
import { useDestinationStage } from './destination-stage.ts';

describe.skipIf(!executablePath)('the form for event filters in the console', () => {
  const stage = useDestinationStage();

  const openForm = async (page: ConsolePage) => {
    await page
      .getByRole('button', { name: /\/filtered$/ })
      .first()
      .click();
    return page.getByRole('group', { name: 'Event filter' });
  };
  const storedFilter = async (id: string) =>
    (await stage.alice.rest<{ filter: unknown }>('GET', `${stage.base}/webhooks/${id}`)).body.filter;

  test('a filter is built from rows, and shows which of the latest events match while it is edited', async () => {
    let id = '';
    const page = await stage.open('/webhooks', async (base) => {
      ({ id } = await createWebhook(stage.alice, base, { url: `${stage.receiver.url}/filtered` }));
      for (const priceUsd of ['0.5', '2']) await createEndpoint(stage.alice, base, { priceUsd });
    });
    const filter = await openForm(page);
    await filter.getByRole('button', { name: 'Add condition' }).click();
    await filter.getByRole('combobox', { name: 'Field of condition 1' }).click();
    await page.getByRole('option', { name: 'data.priceUsd', exact: true }).click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await filter.getByText('Enter a value for every condition.').waitFor();
    await filter.getByRole('textbox', { name: 'Value of condition 1' }).fill('1');
    await filter.getByText('The filter matches 1 of the latest 2 events.').waitFor();
    expect(await filter.getByRole('row').allInnerTexts()).toEqual([
      expect.stringMatching(/^Matches\s+endpoint\.created/),
      expect.stringMatching(/^No match\s+endpoint\.created/),
    ]);
    await filter.getByRole('textbox', { name: 'Value of condition 1' }).fill('cheap');
    await filter.getByText('Must be a decimal string, for example, "1.00".').waitFor();
    await filter.getByRole('textbox', { name: 'Value of condition 1' }).fill('1');

    await filter.getByRole('button', { name: 'Add group' }).click();
    await filter.getByRole('button', { name: 'Add condition to group 2' }).click();
    await filter.getByRole('combobox', { name: 'Field of condition 1 of group 2' }).click();
    await page.getByRole('option', { name: 'type', exact: true }).click();
    await filter.getByRole('combobox', { name: 'Operator of condition 1 of group 2' }).selectOption('in');
    // The click goes to the field's frame, as a user's click does.
    await filter.getByRole('combobox', { name: 'Value of condition 1 of group 2' }).click({ force: true });
    await page.getByRole('option', { name: 'endpoint.created' }).click();
    await page.keyboard.press('Escape');
    await filter.getByRole('combobox', { name: 'Operator of condition 2 of group 2' }).selectOption('exists');
    await filter.getByRole('combobox', { name: 'How group 2 matches' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await storedFilter(id)).toEqual({
      'data.priceUsd': { gte: '1' },
      or: [{ type: { in: ['endpoint.created'] } }, { 'data.amountUsd': { exists: true } }],
    });

    // When the form is opened again, the filter looks the same and can be removed row by row.
    const again = await openForm(page);
    expect(await again.getByRole('textbox', { name: 'Value of condition 1' }).inputValue()).toBe('1');
    await again.getByRole('button', { name: 'Remove group 2' }).click();
    await again.getByRole('button', { name: 'Remove condition 1' }).click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await storedFilter(id)).toBeNull();
    expect(page.complaints).toEqual([]);
  });

  test('a filter that the form can’t show is edited as JSON, and tested with samples if there are no events', async () => {
    const page = await stage.open('/webhooks', (base) =>
      createWebhook(stage.alice, base, {
        url: `${stage.receiver.url}/filtered`,
        filter: { not: { type: 'payment.settled' } },
      }),
    );
    const filter = await openForm(page);
    await filter.getByText('The form can’t show this filter.').waitFor();
    expect(JSON.parse(await filter.getByRole('textbox', { name: 'Filter' }).inputValue())).toEqual({
      not: { type: 'payment.settled' },
    });
    await filter
      .getByText('This project has no events yet. The filter matches the samples for 7 of 8 event types.')
      .waitFor();
    expect(await filter.getByRole('radio', { name: 'Form' }).isDisabled()).toBe(true);
    await filter.getByRole('textbox', { name: 'Filter' }).fill('{"data.method": "GET"}');
    await filter.getByText('Form', { exact: true }).click();
    expect(await filter.getByRole('textbox', { name: 'Value of condition 1' }).inputValue()).toBe('GET');
    await expectAccessible(page);
  });
});

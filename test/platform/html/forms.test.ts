/** Fields of forms: what leads people, and screen readers, from a field to what is said about it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Field, field, hidden, titled } from '../../../src/platform/html/forms.ts';

const markup = (more: Partial<Field>) => field({ name: 'code', label: 'Code', ...more }).markup;
const input = (more: Partial<Field>) => /<input [^>]*>/.exec(markup(more))?.[0];

describe('a field of a form', () => {
  it('has a label, is required, and is not filled in by browsers', () => {
    assert.match(markup({}), /<label for="code">Code<\/label>/);
    assert.equal(input({}), '<input id="code" name="code" type="text" autocomplete="off" required>');
    assert.equal(input({ isOptional: true }), '<input id="code" name="code" type="text" autocomplete="off">');
  });

  it('is linked to its hint, to what is wrong with it and to the problem of the form', () => {
    assert.match(input({ hint: 'Six digits' }) ?? '', /required aria-describedby="code-hint">/);
    const wrong = markup({ hint: 'Six digits', wrong: 'It is too short' });
    assert.match(wrong, / aria-invalid="true" aria-describedby="code-wrong code-hint">/);
    assert.match(wrong, /<p class="wrong" id="code-wrong">It is too short<\/p>/);
    const message = 'Try again.';
    assert.match(input({ problem: { message } }) ?? '', / aria-invalid="true" aria-describedby="problem">/);
    assert.match(input({ problem: { message, fields: ['code'] } }) ?? '', /aria-describedby="problem"/);
    assert.doesNotMatch(input({ problem: { message, fields: ['name'] } }) ?? '', /aria-/);
  });

  it('escapes what was typed', () => {
    assert.match(input({ value: '"><b>' }) ?? '', /value="&quot;&gt;&lt;b&gt;"/);
    assert.equal(hidden({ to: '"' }).markup, '<input type="hidden" name="to" value="&quot;">\n');
  });

  it('helps the keyboards of phones', () => {
    assert.match(input({ autocomplete: 'one-time-code' }) ?? '', /inputmode="numeric"/);
    assert.match(input({ autocomplete: 'username' }) ?? '', /autocapitalize="none"/);
    assert.match(input({ isCode: true }) ?? '', /autocapitalize="characters"/);
  });

  it('has a problem first in the title of its page', () => {
    assert.deepEqual(
      [titled('Sign in', undefined), titled('Sign in', { message: 'No' })],
      ['Sign in', 'Problem: Sign in'],
    );
  });
});

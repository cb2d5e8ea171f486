import assert from 'node:assert/strict';
import test from 'node:test';
import { csvRecord } from '../../../src/platform/text/lines.ts';

test('CSV cells are escaped safely', () => {
  const cells = ['+1', '\tx', '\r', '＝1', "'a", '', 'a=b', 'ž,"'];
  assert.equal(csvRecord([7, ...cells]), `7,'+1,'\tx,"'\r",'＝1,'a,,a=b,"ž,"""\r\n`);
});

import assert from 'node:assert/strict';
import test from 'node:test';
import { csvRecord } from '../../../src/platform/text/lines.ts';

test('CSV cells are escaped safely', () => {
  const cells = ['+1', '\tx', '\r', '＝1', "'a", '', 'a=b', 'ž,"'];
  assert.equal(csvRecord([7, ...cells]), `7,'+1,'\tx,"'\r",'＝1,'a,,a=b,"ž,"""\r\n`);
});

test('nor do CSV cells become formulas where a semicolon, a tab or a line break ends them', () => {
  const cells = ['x;=1+1', 'x; "-1', 'x\t@a', 'x\r\n+1', 'x|＝1', '=1;=2', 'a; b=c', 'a-b;c'];
  assert.equal(csvRecord(cells), `x;'=1+1,"x; ""'-1",x\t'@a,"x\r\n'+1",x|'＝1,'=1;'=2,a; b=c,a-b;c\r\n`);
});

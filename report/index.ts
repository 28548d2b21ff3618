/** Reports of runs for people. Other folders import from here. */
export {
  REPORT_ITEMS_MAX,
  type ReportNode,
  type ReportRow,
  type ReportSource,
} from './report-data.ts';
export { reportHtml } from './report-html.ts';

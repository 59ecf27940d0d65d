/// <reference types="vite/client" />
// System fonts, so that the site loads fast and loads nothing from elsewhere.
import theme from 'vitepress/theme-without-fonts';
import './tables.css';

export default theme;

// In place of the theme's copy of Font Awesome: 1.5 MB of drawings, of which a page shows ten.
// The theme's own style sheet draws the same icons with its font.

"""The ops of linear algebra, one module for each kind of factor or equation."""

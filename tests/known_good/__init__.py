"""Programs written as their authors recommend for XLA: no rule may complain of them."""
